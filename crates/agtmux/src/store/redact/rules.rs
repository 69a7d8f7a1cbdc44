//! What a secret looks like.
//!
//! Two kinds of rule: tokens that their issuer marked with a prefix are known by their form alone; everything else is
//! known by the name it is assigned to, and then has to look random, since code and prose are full of lines such as
//! `token: next_token` and `password: required`.

/// How to find one kind of secret.
pub(super) struct Rule {
    /// What stands in its place.
    pub(super) kind: &'static str,
    /// Matches wherever the pattern could, and is cheap. Holds no character that JSON escapes.
    pub(super) keywords: &'static str,
    /// Finds it. The group `secret` is replaced, or everything if there is no such group.
    pub(super) pattern: &'static str,
    /// The last word, given the group `key` and the secret.
    pub(super) accepts: fn(&str, &str) -> bool,
}

/// Words, in lower case, without one of which no rule's keywords can match. They can be looked for without compiling anything,
/// which is what a program that runs for a millisecond needs.
pub(super) const WORDS: &[&str] = &[
    "private key",
    "age-secret-key",
    "akia",
    "asia",
    "abia",
    "acca",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "glptt-",
    "gldt-",
    "glrt-",
    "glcbt-",
    "glimt-",
    "glagent-",
    "glsoat-",
    "glft-",
    "gloas-",
    "glffct-",
    "xox",
    "xapp-",
    "hooks.slack.com",
    "sk-ant-",
    "sk-",
    "aiza",
    "ya29.",
    "gocspx-",
    "k_live_",
    "k_test_",
    "whsec_",
    "npm_",
    "pypi-age",
    "hf_",
    "gsk_",
    "xai-",
    "hvs.",
    "hvb.",
    "sg.",
    "shpat_",
    "shpca_",
    "shppa_",
    "shpss_",
    "dckr_pat_",
    "dop_v1_",
    "tskey-",
    "lin_api_",
    "glsa_",
    ":aa",
    "eyj",
    "authorization",
    "bearer",
    "://",
    "cookie",
    "passw",
    "passphrase",
    "pwd",
    "pass",
    "--user",
    "-u ",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "authkey",
    "auth_key",
    "auth-key",
    "accountkey",
    "account_key",
    "account-key",
    "privatekey",
    "private_key",
    "private-key",
    "encryptionkey",
    "encryption_key",
    "encryption-key",
    "signingkey",
    "signing_key",
    "signing-key",
    "credential",
    "agtmux_capability",
    "_auth",
];

/// Specific rules come before general ones, so that a secret gets its most telling name.
pub(super) const RULES: [Rule; 20] = [
    by_form(
        "private-key",
        r"PRIVATE KEY",
        r"-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]*?-----END[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\+[nr])*(?:[A-Za-z0-9+/=]{16,}|(?:Proc-Type|DEK-Info|Comment|Version):[^\n\\]*))*)",
    ),
    by_form("age-key", r"AGE-SECRET-KEY", r"\bAGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{20,}"),
    by_form("aws", r"AKIA|ASIA|ABIA|ACCA", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    by_form(
        "github",
        r"gh[pousr]_|github_pat_",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})",
    ),
    by_form(
        "gitlab",
        r"gl(?:pat|ptt|dt|rt|cbt|imt|agent|soat|ft|oas|ffct)-",
        r"\bgl(?:pat|ptt|dt|rt|cbt|imt|agent|soat|ft|oas|ffct)-[A-Za-z0-9_=.-]{20,300}",
    ),
    by_form(
        "slack",
        r"xox[a-z]|xapp-|hooks\.slack\.com",
        r"\bxox[abeoprs](?:\.xox[abeoprs])?-[A-Za-z0-9-]{10,250}|\bxapp-\d-[A-Za-z0-9-]{20,}|hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}",
    ),
    by_form("anthropic", r"sk-ant-", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    by_form("openai", r"\bsk-", r"\bsk-(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{20,}|\bsk-[A-Za-z0-9]{32,}\b"),
    by_form(
        "google",
        r"AIza|ya29\.|GOCSPX-",
        r"\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{28}",
    ),
    by_form(
        "stripe",
        r"[sr]k_live_|[sr]k_test_|whsec_",
        r"\b(?:[sr]k_(?:live|test)_[A-Za-z0-9]{10,99}|whsec_[A-Za-z0-9+/=]{24,})",
    ),
    by_form("npm", r"npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    by_form("pypi", r"pypi-AgE", r"\bpypi-AgE[A-Za-z0-9_-]{40,}"),
    by_form(
        "service-token",
        r"hf_|gsk_|xai-|hvs\.|hvb\.|SG\.|shp(?:at|ca|pa|ss)_|dckr_pat_|dop_v1_|tskey-|lin_api_|glsa_|:AA",
        r"\b(?:hf_[A-Za-z0-9]{34,}|gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{60,}|hv[sb]\.[A-Za-z0-9_-]{24,}|SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|dckr_pat_[A-Za-z0-9_-]{20,}|dop_v1_[a-f0-9]{64}|tskey-[a-z]+-[A-Za-z0-9-]{15,}|lin_api_[A-Za-z0-9]{32,}|glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|\d{8,10}:AA[A-Za-z0-9_-]{33})",
    ),
    by_form("jwt", r"eyJ", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?"),
    Rule {
        kind: "authorization",
        keywords: r"(?i)authorization|bearer",
        pattern: r#"(?i)(?:\bauthorization\\*["']?\s*[:=]\s*\\*["']?(?P<key>(?:bearer|basic|token|digest|apikey)\s+)?|\bbearer\s+)(?P<secret>[A-Za-z0-9._~+/=-]{8,})"#,
        accepts: |key, value| !key.is_empty() && !is_placeholder(value) || looks_random(value),
    },
    Rule {
        kind: "url-password",
        keywords: r"://",
        pattern: r#"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>\\]*:(?P<secret>[^\s/"'<>\\]+)@"#,
        accepts: |_, value| !is_placeholder(value),
    },
    Rule {
        kind: "cookie",
        keywords: r"(?i)cookie",
        pattern: r#"(?i)\b(?:set-)?cookie\\*["']?\s*:\s*\\*["']?(?P<secret>[A-Za-z0-9_.-]+=[^\r\n"'\\]{8,})"#,
        accepts: |_, _| true,
    },
    Rule {
        kind: "password",
        keywords: r"(?i)passw|passphrase|pwd|pass(?:\b|[_0-9])",
        pattern: r#"(?i)(?P<key>[a-z0-9_.-]*(?:password|passwd|passphrase|passwort|pwd|\bpass)(?:[_-][a-z0-9_-]+|[0-9]*))\\*["']?(?:\s*(?:=>|:=|=|:)\s*|\s+)\\*["'`]?(?P<secret>[^\s"'`,;&<>(){}\[\]\\]{6,})"#,
        accepts: |key, value| holds_secret(key) && looks_chosen(value),
    },
    Rule {
        kind: "credentials",
        keywords: r"(?i)--user|-u ",
        pattern: r#"(?:\s--user[= ]|\s-u ?)\\*["']?[^\s:"'\\]+:(?P<secret>[^\s"'\\]{4,})"#,
        accepts: |_, value| !is_placeholder(value) && looks_chosen(value),
    },
    Rule {
        kind: "secret",
        keywords: r"(?i)secret|token|(?:api|access|auth|account|private|encryption|signing)[_-]?key|credential|agtmux_capability|_auth",
        pattern: r#"(?i)(?P<key>[a-z0-9_.-]*(?:secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|account[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|credentials?|agtmux_capability|_auth)(?:key|value)?(?:[_-][a-z0-9_-]+|[0-9]*))\\*["']?(?:\s*(?:=>|:=|=|:)\s*|\s+)\\*["'`]?(?P<secret>[^\s"'`,;&<>(){}\[\]\\]{12,})"#,
        accepts: |key, value| holds_secret(key) && looks_random(value),
    },
];

const fn by_form(kind: &'static str, keywords: &'static str, pattern: &'static str) -> Rule {
    Rule { kind, keywords, pattern, accepts: |_, _| true }
}

/// Whether a name that speaks of a secret stands for the secret itself, not for its file, length or price.
fn holds_secret(key: &str) -> bool {
    const ABOUT: [&str; 33] = [
        "name",
        "file",
        "path",
        "dir",
        "type",
        "kind",
        "class",
        "url",
        "uri",
        "endpoint",
        "env",
        "field",
        "label",
        "count",
        "limit",
        "ttl",
        "expiry",
        "expires",
        "at",
        "len",
        "length",
        "size",
        "usage",
        "budget",
        "version",
        "status",
        "policy",
        "prompt",
        "algorithm",
        "format",
        "helper",
        "manager",
        "provider",
    ];
    let last = key.rsplit(['_', '-', '.']).next().unwrap_or(key);
    !ABOUT.iter().any(|about| last.eq_ignore_ascii_case(about))
}

/// Whether a person could have chosen this as a password: not a word, not a number, not a piece of code.
fn looks_chosen(value: &str) -> bool {
    let letters = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let symbols = value.bytes().any(|byte| b"!@#$%^*+~?=|".contains(&byte));
    letters && (digits > 0 || symbols) && !is_placeholder(value) && !is_path(value) && !is_identifier(value)
}

/// Whether a machine could have made this: long, mixed, and with more surprise per character than words have.
fn looks_random(value: &str) -> bool {
    if value.len() < 12 || is_placeholder(value) || is_path(value) || is_identifier(value) {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let mixed = value.bytes().any(|b| b.is_ascii_uppercase()) && value.bytes().any(|b| b.is_ascii_lowercase());
    let surprising = entropy(value) >= 3.0;
    surprising && letters > 0 && (digits >= 2 || mixed && (digits == 1 || changes_case_often(value)))
}

/// `$TOKEN`, `<your-key>`, `xxxx`, `example-…`: what documentation puts where a secret goes.
fn is_placeholder(value: &str) -> bool {
    const BEGINNINGS: [&str; 13] =
        ["$", "{", "<", "*", "%", "[", "xxx", "your", "example", "changeme", "redacted", "process.env", "os.environ"];
    let lower = value.to_ascii_lowercase();
    BEGINNINGS.iter().any(|beginning| lower.starts_with(beginning)) || lower.contains("://") || lower.contains("...")
}

/// Base 64 may begin with a slash, too, but then it has no reason to pause for another one soon.
fn is_path(value: &str) -> bool {
    let begins = ["/", "./", "../", "~/", "@/"].iter().any(|beginning| value.starts_with(beginning));
    begins && value.split('/').all(|segment| segment.len() < 24)
}

/// Names in code: words joined by `_`, `.`, `-`, `/` or `::`, each with at most a short number at its end.
fn is_identifier(value: &str) -> bool {
    const JOINTS: [char; 5] = ['_', '.', '-', '/', ':'];
    value.contains(JOINTS) && value.split(JOINTS).all(is_word)
}

/// `word`, `WORD`, `camelCase`, `v2`; or nothing, as between two colons.
fn is_word(word: &str) -> bool {
    let stem = word.trim_end_matches(|c: char| c.is_ascii_digit()).as_bytes();
    let shouted = stem.iter().all(u8::is_ascii_uppercase);
    let camel = !stem.windows(2).any(|pair| pair.iter().all(u8::is_ascii_uppercase));
    word.len() - stem.len() <= 4 && stem.iter().all(u8::is_ascii_alphabetic) && (shouted || camel)
}

/// Random letters change case at every other place, `CamelCase` at every third or fewer. Short names can do both.
fn changes_case_often(value: &str) -> bool {
    let bytes = value.as_bytes();
    let changes = bytes.windows(2).filter(|pair| pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase()).count();
    bytes.len() >= 20 && changes * 5 >= (bytes.len() - 1) * 2
}

/// Shannon entropy in bits per byte.
fn entropy(value: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / total)
        .map(|share| -share * share.log2())
        .sum()
}
