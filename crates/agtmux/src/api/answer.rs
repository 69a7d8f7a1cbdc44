//! How answers look: JSON documents, and errors of one shape.

use agtmux_wire::error::{ErrorBody, ErrorCode};
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::CommandError;

/// What a handler gives.
pub type Answer<T> = Result<Json<T>, Failure>;

/// A document.
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Err(error) => Failure(CommandError::internal(error)).into_response(),
        }
    }
}

/// An error.
pub struct Failure(pub CommandError);

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = ErrorBody { error: self.0.into() };
        (status, [(header::CONTENT_TYPE, "application/json")], serde_json::to_vec(&body).unwrap_or_default())
            .into_response()
    }
}

/// A JSON body of a route.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        match axum::Json::<T>::from_request(request, state).await {
            Ok(axum::Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(Failure(bad_body(&rejection))),
        }
    }
}

fn bad_body(rejection: &JsonRejection) -> CommandError {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return CommandError::new(ErrorCode::TooLarge, "the body is larger than 1 MiB")
            .hint("send less; raw payloads are cut to 64 KiB anyway");
    }
    CommandError::new(ErrorCode::BadJson, rejection.body_text()).hint("GET /openapi.json says what each route takes")
}

/// The query parameters of a route.
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let found: Result<Query<T>, QueryRejection> = Query::from_request_parts(parts, state).await;
        found.map(|Query(params)| Self(params)).map_err(|rejection| {
            Failure(
                CommandError::new(ErrorCode::Usage, rejection.body_text())
                    .hint("GET /openapi.json says what each route takes"),
            )
        })
    }
}
