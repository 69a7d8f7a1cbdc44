//! The scripted model, asked over HTTP in each of its dialects.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use agtmux_lab::model::Server;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// Posts a document and gives the status and the body, or what was received of it and then the error.
async fn post(server: &Server, path: &str, body: &Value) -> String {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post(path).body(Full::new(Bytes::from(body.to_string()))).unwrap();
    let response = sender.send_request(request).await.unwrap();
    let mut text = format!("{}\n", response.status());
    let mut body = response.into_body();
    loop {
        match body.frame().await {
            None => return text,
            Some(Ok(frame)) => text.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap())),
            Some(Err(_)) => return text + "the connection breaks\n",
        }
    }
}

fn shell(parameter: &str) -> Value {
    json!({ "type": "object", "properties": { parameter: { "type": "string" } }, "required": [parameter] })
}

async fn anthropic(server: &Server, prompt: &str) -> String {
    let body = json!({
        "model": "m", "stream": true, "messages": [{ "role": "user", "content": prompt }],
        "tools": [{ "name": "Bash", "input_schema": shell("command") }],
    });
    post(server, "/v1/messages?beta=true", &body).await
}

async fn responses(server: &Server, prompt: &str) -> String {
    let body = json!({
        "model": "m", "stream": true,
        "input": [{ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": prompt }] }],
        "tools": [{ "type": "function", "name": "exec_command", "parameters": shell("cmd") }],
    });
    post(server, "/v1/responses", &body).await
}

async fn chat(server: &Server, prompt: &str) -> String {
    let body = json!({
        "model": "m", "stream": true, "messages": [{ "role": "user", "content": prompt }],
        "tools": [{ "type": "function", "function": { "name": "bash", "parameters": shell("command") } }],
    });
    post(server, "/v1/chat/completions", &body).await
}

async fn gemini(server: &Server, prompt: &str) -> String {
    let body = json!({
        "contents": [{ "role": "user", "parts": [{ "text": prompt }] }],
        "tools": [{ "functionDeclarations": [
            { "name": "run_shell_command", "parametersJsonSchema": shell("command") },
        ] }],
    });
    post(server, "/v1beta/models/m:streamGenerateContent?alt=sse", &body).await
}

#[tokio::test]
async fn each_dialect_says_and_does_the_same() {
    for prompt in ["say:hello", "tool:bash:touch x", "error:429", "cut:"] {
        let server = Server::start().await.unwrap();
        let told = [
            format!("# anthropic\n{}", anthropic(&server, prompt).await),
            format!("# responses\n{}", responses(&server, prompt).await),
            format!("# chat\n{}", chat(&server, prompt).await),
            format!("# gemini\n{}", gemini(&server, prompt).await),
        ]
        .join("\n");
        let name: String = prompt.chars().take_while(|c| *c != ':').collect();
        insta::assert_snapshot!(name, told);
    }
}

#[tokio::test]
async fn an_error_may_pass() {
    let server = Server::start().await.unwrap();
    let statuses = [
        anthropic(&server, "error:500:2").await,
        anthropic(&server, "error:500:2").await,
        anthropic(&server, "error:500:2").await,
    ]
    .map(|told| told[..3].to_owned());
    assert_eq!(statuses, ["500", "500", "200"]);
}

#[tokio::test]
async fn side_requests_are_answered_at_once_whatever_the_prompt_says() {
    let server = Server::start().await.unwrap();
    let schema = json!({ "type": "object", "properties": { "title": { "type": "string" } }, "required": ["title"] });
    let body = json!({
        "messages": [{ "role": "user", "content": "error:500" }],
        "output_config": { "format": { "type": "json_schema", "schema": schema } },
    });
    let told: Value = post(&server, "/v1/messages", &body).await.lines().nth(1).unwrap().parse().unwrap();
    assert_eq!(told["content"][0]["text"], json!({ "title": "Lab title" }).to_string());
    let body = json!({ "messages": [{ "role": "user", "content": "hang:60" }] });
    let told: Value = post(&server, "/v1/chat/completions", &body).await.lines().nth(1).unwrap().parse().unwrap();
    assert_eq!(told["choices"][0]["message"]["content"], "Lab title");
}

#[tokio::test]
async fn the_world_is_out_of_reach() {
    let server = Server::start().await.unwrap();
    let told = post(&server, "http://example.com/v1/messages", &json!({})).await;
    assert_eq!(told, "403 Forbidden\n");
    assert!(server.asked()[0].outside, "{:?}", server.asked());
}
