//! Both dialects against a scripted server.

use std::time::{Duration, Instant};

use serde_json::json;

use super::server::{Reply, Server, status};
use super::*;

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

fn openai(text: &str) -> Reply {
    Reply::Json(json!({ "choices": [{ "message": { "role": "assistant", "content": text } }] }))
}

fn anthropic(text: &str) -> Reply {
    Reply::Json(json!({ "content": [{ "type": "thinking", "thinking": "…" }, { "type": "text", "text": text }] }))
}

fn of(provider: &str, server: &Server) -> Client {
    client(&format!("provider = '{provider}'\nmodel = 'm-1'\nurl = '{}'\ntimeout_seconds = 1", server.url))
}

/// Which answer a reply leads to, for both dialects where they do not differ.
fn outcome(reply: Reply) -> Result<Guess, String> {
    let server = Server::start(vec![reply]);
    ask(&of("openai", &server), "$ cargo test").map_err(|error| error.to_string())
}

#[test]
fn openai_is_asked_in_its_own_words() {
    let server = Server::start(vec![openai(ANSWER)]);
    assert_eq!(ask(&of("openai", &server), "$ cargo test").unwrap(), completed());
    let request = server.requests.recv().unwrap();
    assert!(request.head.starts_with("post /chat/completions http/1.1"), "{}", request.head);
    assert!(request.head.contains("content-type: application/json"), "{}", request.head);
    assert!(!request.head.contains("authorization"), "no key was configured: {}", request.head);
    assert_eq!(request.body["model"], "m-1");
    assert_eq!(request.body["messages"][0]["role"], "system");
    let question = request.body["messages"][1]["content"].as_str().unwrap();
    assert!(question.contains("$ cargo test") && question.contains("claude"), "{question}");
}

#[test]
fn anthropic_is_asked_in_its_own_words() {
    let server = Server::start(vec![anthropic(ANSWER)]);
    assert_eq!(ask(&of("anthropic", &server), "$ cargo test").unwrap(), completed());
    let request = server.requests.recv().unwrap();
    assert!(request.head.starts_with("post /v1/messages http/1.1"), "{}", request.head);
    assert!(request.head.contains("anthropic-version: 2023-06-01"), "{}", request.head);
    assert_eq!(request.body["model"], "m-1");
    assert!(request.body["max_tokens"].as_u64().unwrap() > 0);
    assert!(request.body["system"].as_str().unwrap().contains("JSON"));
    assert!(request.body["messages"][0]["content"].as_str().unwrap().contains("$ cargo test"));
}

#[test]
fn the_key_is_the_variables_and_each_dialect_has_its_header() {
    // A variable that every test process has; its value is as good a key as any.
    let path = std::env::var("PATH").unwrap().to_lowercase();
    for (provider, header) in [("openai", "authorization: bearer "), ("anthropic", "x-api-key: ")] {
        let server = Server::start(vec![openai(ANSWER)]);
        let url = &server.url;
        let client = client(&format!("provider = '{provider}'\nmodel = 'm'\nurl = '{url}'\napi_key_env = 'PATH'"));
        ask(&client, "x").ok();
        let head = server.requests.recv().unwrap().head;
        assert!(head.contains(&format!("{header}{path}")), "{head}");
    }
}

#[test]
fn a_key_that_is_not_there_is_named() {
    let config = toml::from_str("provider = 'openai'\nmodel = 'm'\napi_key_env = 'NOT_SET_ANYWHERE'").unwrap();
    let error = Client::new(&config, Path::new("/")).unwrap_err();
    assert!(error.to_string().contains("NOT_SET_ANYWHERE"), "{error}");
}

#[test]
fn no_secret_reaches_the_server() {
    let server = Server::start(vec![openai(ANSWER)]);
    ask(&of("openai", &server), &format!("$ export TOKEN={SECRET}\nready")).unwrap();
    let sent = server.requests.recv().unwrap().body.to_string();
    assert!(sent.contains("[redacted:") && sent.contains("ready"), "{sent}");
    assert!(!sent.contains(SECRET), "{sent}");
}

#[test]
fn prose_around_the_answer_does_not_matter() {
    let prose = format!("Let me look.\n```json\n{ANSWER}\n```\nThat is all.");
    assert_eq!(outcome(openai(&prose)), Ok(completed()));
}

#[test]
fn what_is_no_answer_gives_none_and_says_why() {
    let error = |reply| outcome(reply).unwrap_err();
    assert_eq!(error(openai("I cannot say.")), "the answer has no JSON object with a state");
    assert_eq!(error(openai(r#"{"state":"dancing"}"#)), "the answer has the unknown state \"dancing\"");
    assert_eq!(error(Reply::Json(json!({ "id": 1 }))), r#"answered something else than expected: {"id":1}"#);
    assert_eq!(error(status("200 OK", "<html>")), "answered something else than expected: <html>");
    assert_eq!(error(status("500 Oops", "")), "answered 500: it did not say why");
    assert_eq!(error(status("302 Found\r\nLocation: http://127.0.0.1:1/", "")), "answered 302: it did not say why");
    assert_eq!(error(Reply::Flood), "answered more than 64 KiB");
    let torn = error(Reply::Raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".to_owned()));
    assert!(torn.starts_with("cannot be reached: "), "{torn}");
}

#[test]
fn what_a_provider_repeats_of_a_secret_is_not_shown() {
    let error = outcome(status("401 No", &format!("{{\"error\": \"bad token {SECRET}\"}}"))).unwrap_err();
    assert!(error.starts_with("answered 401: ") && !error.contains(SECRET), "{error}");
}

#[test]
fn who_is_slow_is_not_waited_for() {
    for reply in [Reply::Hang, Reply::Drip] {
        let started = Instant::now();
        assert_eq!(outcome(reply), Err("no answer within 1 s".to_owned()));
        assert!(started.elapsed() >= Duration::from_secs(1));
    }
}

#[test]
fn a_server_that_is_not_there_is_unreachable() {
    let error = ask(&client("provider = 'openai'\nmodel = 'm'\nurl = 'http://127.0.0.1:1'"), "x").unwrap_err();
    assert!(error.to_string().starts_with("cannot be reached: "), "{error}");
}
