//! The description of the API says what the daemon serves: no less, and no more.

use serde_json::Value;

use crate::common::TestEnvironment;

#[test]
fn the_description_and_the_router_are_the_same() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let document = environment.get("/openapi.json");
    let paths = document["paths"].as_object().unwrap();
    let is_documented = |path: &str, method: &str| paths[path].get(method.to_lowercase()).is_some();
    let mut wrong = Vec::new();
    for path in paths.keys() {
        // What ends the daemon comes last.
        let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"].into_iter();
        for method in methods.filter(|method| !(path == "/v1/daemon/stop" && *method == "POST")) {
            let real = path.replace("{id}", "none").replace("{ref}", "none").replace("{name}", "none");
            let answer = environment.request(method, &real, b"").unwrap();
            let is_served = answer.status != 404 || answer.code() != "E_NO_SUCH_ROUTE";
            if is_served != is_documented(path, method) {
                wrong.push(format!("{method} {path}: documented {}, served {is_served}", !is_served));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(is_documented("/v1/daemon/stop", "POST"));
    let stopped = environment.request("POST", "/v1/daemon/stop", b"").unwrap();
    assert_eq!(stopped.status, 200, "{stopped:#?}");
}

/// What is described of a query is understood: a value of the wrong kind is refused for that, and not passed over.
#[test]
fn documented_parameters_are_read() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let document = environment.get("/openapi.json");
    let mut tried = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let parameters = operations["get"]["parameters"].as_array().cloned().unwrap_or_default();
        let kinds = |parameter: &Value| parameter["schema"]["type"].to_string();
        let numbers = parameters.iter().filter(|parameter| {
            parameter["in"] == "query" && (kinds(parameter).contains("integer") || kinds(parameter).contains("boolean"))
        });
        for name in numbers.map(|parameter| parameter["name"].as_str().unwrap()) {
            let real = path.replace("{id}", "none");
            let answer = environment.request("GET", &format!("{real}?{name}=wrong"), b"").unwrap();
            assert!(answer.body.contains("E_USAGE") || answer.status == 400, "{path}?{name}: {answer:#?}");
            tried += 1;
        }
    }
    assert!(tried > 5, "{tried}");
}
