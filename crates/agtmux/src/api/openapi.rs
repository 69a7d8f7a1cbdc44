//! `GET /openapi.json`: assembled from the table of routes and the schemas of the wire types. OpenAPI 3.1 is JSON
//! Schema, so nothing is translated.

use agtmux_wire::error::{ErrorBody, ErrorCode};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::answer::Json;
use super::routes::{self, Route};

pub async fn show() -> Json<Value> {
    std::future::ready(Json(document())).await
}

/// The whole description.
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
    });
    let mut generator = settings.into_generator();
    let error = generator.subschema_for::<ErrorBody>();
    let mut paths = Map::new();
    for route in routes::table() {
        let operation = operation(&route, &mut generator, &error.clone().into());
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.name()] = operation;
    }
    let codes: Vec<_> = ErrorCode::ALL.iter().map(|code| format!("{}: {}", code.name(), code.meaning())).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "agtmux",
            "version": env!("CARGO_PKG_VERSION"),
            "description": format!("The daemon's API, on its unix socket. Errors:\n\n{}", codes.join("\n")),
        },
        "paths": paths,
        "components": { "schemas": generator.take_definitions(true) },
    })
}

fn operation(route: &Route, generator: &mut schemars::SchemaGenerator, error: &Value) -> Value {
    let mut parameters: Vec<Value> = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    if let Some(query) = route.query {
        parameters.extend(query_parameters(&query(generator).into(), generator));
    }
    let success = match route.answer {
        Some(answer) => {
            json!({ "description": "ok", "content": { "application/json": { "schema": answer(generator) } } })
        }
        None => json!({ "description": "ok" }),
    };
    let failure = json!({ "description": "refused", "content": { "application/json": { "schema": error } } });
    let mut operation = json!({
        "summary": route.summary,
        "parameters": parameters,
        "responses": { "200": success, "default": failure },
    });
    if let Some(body) = route.body {
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": body(generator) } } });
    }
    operation
}

/// The fields of a query type, one parameter each.
fn query_parameters(schema: &Value, generator: &schemars::SchemaGenerator) -> Vec<Value> {
    let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()).unwrap_or_default();
    let definition = generator.definitions().get(name).cloned().unwrap_or_else(|| schema.clone());
    let Some(properties) = definition["properties"].as_object() else {
        return Vec::new();
    };
    let required = definition["required"].as_array().cloned().unwrap_or_default();
    let is_required = |name: &str| required.iter().any(|required| required == name);
    properties
        .iter()
        .map(|(name, schema)| json!({ "name": name, "in": "query", "required": is_required(name), "schema": schema }))
        .collect()
}
