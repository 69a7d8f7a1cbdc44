//! Secrets never reach the disk, and what is no secret is left alone.

use std::collections::BTreeMap;

use super::super::redact::redact;
use super::*;

/// Pseudo-random and the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn text(&mut self, alphabet: &str, length: usize) -> String {
        (0..length).map(|_| char::from(alphabet.as_bytes()[self.roll(alphabet.len())])).collect()
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.roll(choices.len())]
    }
}

const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE36: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A secret, the kind it should be taken for, and the text it stands in.
struct Planted {
    kind: &'static str,
    secret: String,
    text: String,
}

fn planted() -> Vec<Planted> {
    let mut dice = Dice(7);
    let mut all = Vec::new();
    for _ in 0..12 {
        for (kind, secret) in tokens(&mut dice) {
            let text = around(&mut dice, &secret);
            all.push(Planted { kind, secret, text });
        }
        for (kind, template, secret) in assignments(&mut dice) {
            let text = template.replace("{}", &secret);
            all.push(Planted { kind, secret, text });
        }
    }
    all
}

/// Tokens that are known by their form.
fn tokens(dice: &mut Dice) -> Vec<(&'static str, String)> {
    let d = dice;
    vec![
        ("aws", format!("{}{}", d.pick(&["AKIA", "ASIA"]), d.text(BASE32, 16))),
        ("github", format!("{}_{}", d.pick(&["ghp", "gho", "ghu", "ghs", "ghr"]), d.text(BASE62, 36))),
        ("github", format!("github_pat_{}_{}", d.text(BASE62, 22), d.text(BASE62, 59))),
        ("gitlab", format!("glpat-{}", d.text(BASE64URL, 20))),
        ("slack", format!("xoxb-{}-{}-{}", d.text(DIGITS, 12), d.text(DIGITS, 13), d.text(BASE62, 24))),
        (
            "slack",
            format!("hooks.slack.com/services/T{}/B{}/{}", d.text(BASE32, 8), d.text(BASE32, 8), d.text(BASE62, 24)),
        ),
        ("anthropic", format!("sk-ant-api03-{}AA", d.text(BASE64URL, 93))),
        ("openai", format!("sk-proj-{}", d.text(BASE64URL, 74))),
        ("openai", format!("sk-{}T3BlbkFJ{}", d.text(BASE62, 20), d.text(BASE62, 20))),
        ("google", format!("AIza{}", d.text(BASE64URL, 35))),
        ("google", format!("GOCSPX-{}", d.text(BASE64URL, 28))),
        ("stripe", format!("{}_{}_{}", d.pick(&["sk", "rk"]), d.pick(&["live", "test"]), d.text(BASE62, 24))),
        ("npm", format!("npm_{}", d.text(BASE62, 36))),
        ("pypi", format!("pypi-AgEIcHlwaS5vcmc{}", d.text(BASE64URL, 120))),
        ("service-token", format!("hf_{}", d.text(BASE62, 34))),
        ("service-token", format!("SG.{}.{}", d.text(BASE64URL, 22), d.text(BASE64URL, 43))),
        ("service-token", format!("{}:AA{}", d.text("123456789", 9), d.text(BASE64URL, 33))),
        ("jwt", format!("eyJ{}.eyJ{}.{}", d.text(BASE62, 30), d.text(BASE62, 60), d.text(BASE64URL, 43))),
        (
            "private-key",
            format!(
                "-----BEGIN {0}PRIVATE KEY-----\n{1}\n{2}\n-----END {0}PRIVATE KEY-----",
                d.pick(&["", "RSA ", "OPENSSH ", "EC "]),
                d.text(BASE64, 64),
                d.text(BASE64, 40)
            ),
        ),
        ("private-key", format!("-----BEGIN PRIVATE KEY-----\\n{}\\n{}", d.text(BASE64, 64), d.text(BASE64, 64))),
    ]
}

/// Secrets that are known by what they are assigned to.
fn assignments(dice: &mut Dice) -> Vec<(&'static str, &'static str, String)> {
    let d = dice;
    let word = format!("{}{}{}", d.text(LOWER, 7), d.pick(&["!", "#", "", "@"]), d.text(DIGITS, 3));
    vec![
        ("authorization", "Authorization: Bearer {}", d.text(BASE64URL, 40)),
        ("authorization", r#"curl -H "authorization: Basic {}" https://api.internal"#, d.text(BASE64, 24)),
        ("authorization", r#"{\"headers\":{\"Authorization\":\"Bearer {}\"}}"#, d.text(BASE62, 32)),
        ("url-password", "git clone https://deploy:{}@git.internal/app.git", d.text(BASE62, 20)),
        ("url-password", "DATABASE_URL=postgres://app:{}@db:5432/app", word.clone()),
        ("cookie", "Cookie: {}", format!("session={}", d.text(HEX, 32))),
        ("password", "password={}", word.clone()),
        ("password", "DB_PASSWORD: \"{}\"", word.clone()),
        ("password", "{\"user\":\"me\",\"password\":\"{}\"}", word.clone()),
        ("password", "export PGPASSWORD='{}'", word.clone()),
        ("password", "mysql --password {} -e 'select 1'", word.clone()),
        ("password", "machine git.internal login me password {}", word.clone()),
        ("credentials", "curl -u admin:{} https://ci.internal/job", word),
        ("secret", "aws_secret_access_key = {}", d.text(BASE64, 40)),
        ("secret", "AWS_SESSION_TOKEN={}", d.text(BASE64, 120)),
        ("secret", "client_secret: {}", d.text(BASE62, 32)),
        ("secret", "{\"api_key\": \"{}\"}", d.text(HEX, 32)),
        ("secret", "X-Api-Key: {}", d.text(BASE36, 24)),
        ("secret", "deploy --token {} --env prod", d.text(BASE62, 24)),
        ("secret", "//registry.internal/:_authToken={}", d.text(BASE62, 40)),
        ("secret", "secretKey = '{}'", d.text(BASE62, 24)),
        ("secret", "{\\\"access_token\\\":\\\"{}\\\"}", d.text(BASE64URL, 43)),
        ("secret", "AGTMUX_CAPABILITY={}", d.text(BASE62, 32)),
        ("secret", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={}", d.text(BASE64, 86)),
    ]
}

fn around(dice: &mut Dice, secret: &str) -> String {
    let frame = dice.pick(&[
        "{}",
        "the key is {} and nobody knows",
        "{\"tool_input\":{\"command\":\"run {}\"}}",
        "line one\nvalue: {}\nline three",
        "({})",
        "export X={}",
    ]);
    frame.replace("{}", secret)
}

#[test]
fn planted_secrets_are_found() {
    let all = planted();
    let mut missed = Vec::new();
    let mut kinds = BTreeMap::new();
    for Planted { kind, secret, text } in &all {
        let cleaned = redact(text);
        if cleaned != text.replace(secret, &format!("[redacted:{kind}]")) {
            missed.push((text, cleaned.clone()));
        }
        *kinds.entry(*kind).or_insert(0) += 1;
        assert_eq!(redact(&cleaned), cleaned, "redacting twice changed it again");
    }
    println!("{} of {} found; planted: {kinds:?}; missed: {missed:#?}", all.len() - missed.len(), all.len());
    assert!(all.len() >= 200);
    assert!(missed.len() * 100 <= all.len(), "{missed:#?}");
}

#[test]
fn benign_texts_are_left_alone() {
    let all = benign();
    let touched: Vec<_> = all.iter().filter(|text| redact(text) != text.as_str()).collect();
    println!("{} of {} touched: {touched:#?}", touched.len(), all.len());
    assert!(all.len() >= 500);
    assert!(touched.len() * 200 <= all.len(), "{touched:#?}");
}

/// Paths, hashes, ids, prose, code and output, some with the words that secrets are known by.
fn benign() -> Vec<String> {
    let mut d = Dice(11);
    let mut all: Vec<String> = include_str!("benign.txt").lines().map(str::to_owned).collect();
    for _ in 0..60 {
        all.extend([
            format!("commit {}", d.text(HEX, 40)),
            format!("{} Merge branch 'main' into fix-{}", d.text(HEX, 7), d.text(DIGITS, 3)),
            format!("sha256:{}", d.text(HEX, 64)),
            format!(
                "{}-{}-4{}-a{}-{}",
                d.text(HEX, 8),
                d.text(HEX, 4),
                d.text(HEX, 3),
                d.text(HEX, 3),
                d.text(HEX, 12)
            ),
            format!(
                "/home/me/src/{}/target/debug/deps/{}-{}.rlib",
                d.text(LOWER, 6),
                d.text(LOWER, 8),
                d.text(HEX, 16)
            ),
            format!("\"integrity\": \"sha512-{}==\"", d.text(BASE64, 86)),
            format!(
                "{{\"session_id\":\"{}\",\"transcript_path\":\"/home/me/.claude/projects/x/{}.jsonl\"}}",
                d.text(HEX, 32),
                d.text(HEX, 12)
            ),
            format!(
                "input_tokens: {}, output_tokens: {}, total_tokens={}",
                d.text(DIGITS, 5),
                d.text(DIGITS, 4),
                d.text(DIGITS, 6)
            ),
            format!("runtime rt_{} in pane %{}", d.text(LOWER, 16), d.text(DIGITS, 2)),
        ]);
    }
    all
}

#[tokio::test]
async fn nothing_secret_is_in_the_files() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    let all = planted();
    let mut seq = 0;
    for chunk in all.chunks(50) {
        let mut batch = Batch::default();
        for planted in chunk {
            seq += 1;
            batch.events.push(signal(seq, Some(&planted.text), Some(&planted.text)));
            seq += 1;
            let detail = planted.text.clone();
            batch.events.push(event(seq, Fact::Refused { what: "send".into(), code: "E_X".into(), detail }));
        }
        batch.projection = rows();
        let mut row = state_row(State::Error, seq);
        row.verdict.message = Some(chunk[0].text.clone());
        batch.projection.push(Row::State(row));
        opened.writer.append(batch).await.unwrap();
    }
    opened.writer.flush().await.unwrap();

    let files = ["agtmux.db", "agtmux.db-wal"].map(|file| std::fs::read(dir.path().join(file)).unwrap());
    assert!(files[1].len() > 100_000, "the write-ahead log should still be there");
    let files = files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    // A line break is stored in escaped form, so a key is looked for by its longest line.
    let found: Vec<&str> = all
        .iter()
        .filter_map(|planted| planted.secret.lines().max_by_key(|line| line.len()))
        .filter(|line| files.iter().any(|file| file.contains(line)))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
    let events = opened.reader.events_after(0, usize::MAX, &EventFilter::default()).unwrap();
    assert_eq!(events.len() as u64, seq);
}
