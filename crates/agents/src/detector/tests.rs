use super::*;

fn sightings(bytes: &[u8]) -> Vec<Sighting> {
    let mut detector = SignalDetector::new();
    let mut out = Vec::new();
    detector.feed(bytes, &mut out);
    out
}

#[test]
fn a_marker_alone_on_its_line() {
    let statement = Statement { state: "completed", message: Some("all done".to_owned()) };
    assert_eq!(sightings(b"hello\r\n--<[schmux:completed:all done]>--\r\n"), [Sighting::Marker(statement)]);
}
