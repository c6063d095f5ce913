//! The names in a certificate: the common name of its subject, and alternative names that are DNS names, mail addresses or URIs
//! (RFC 5280, 4.1 and 4.2.1.6).
//!
//! The certificate has been verified; all the same nothing here panics, whatever it holds.

/// Tags of DER (X.690, 8.1.2).
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT: u8 = 0x06;
const OCTETS: u8 = 0x04;
/// `[0] EXPLICIT`, the version, and `[3] EXPLICIT`, the extensions.
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
/// Texts whose bytes are ASCII or UTF-8: `UTF8String`, `PrintableString`, `IA5String`.
const TEXTS: [u8; 3] = [0x0c, 0x13, 0x16];
/// `rfc822Name`, `dNSName`, `uniformResourceIdentifier` of a `GeneralName`.
const NAMES: [u8; 3] = [0x81, 0x82, 0x86];
/// The object identifiers `id-at-commonName` and `id-ce-subjectAltName`.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

/// What is left of a value of DER.
#[derive(Clone, Copy)]
struct Der<'a>(&'a [u8]);

impl<'a> Iterator for Der<'a> {
    type Item = (u8, &'a [u8]);

    /// The next tag and its content.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }
}

impl<'a> Der<'a> {
    /// The next content, if it has this tag.
    fn content(&mut self, tag: u8) -> Option<Der<'a>> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, content)| Der(content))
    }
}

/// The names in a certificate, in DER; none where it is none.
#[must_use]
pub fn names(certificate: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    // What is cut short has the names before it.
    let _ = read(certificate, &mut names);
    names
}

fn read(certificate: &[u8], names: &mut Vec<String>) -> Option<()> {
    let mut fields = Der(certificate).content(SEQUENCE)?.content(SEQUENCE)?;
    let mut ahead = fields;
    if ahead.content(VERSION).is_some() {
        fields = ahead;
    }
    // Serial number, signature, issuer, validity.
    let subject = fields.nth(4).filter(|(tag, _)| *tag == SEQUENCE).map(|(_, subject)| Der(subject))?;
    for (_, set) in subject.filter(|(tag, _)| *tag == SET) {
        for (_, attribute) in Der(set).filter(|(tag, _)| *tag == SEQUENCE) {
            let mut attribute = Der(attribute);
            let is_name = attribute.content(OBJECT).is_some_and(|object| object.0 == COMMON_NAME);
            if let Some((_, text)) = attribute.next().filter(|(tag, _)| is_name && TEXTS.contains(tag)) {
                add(text, names);
            }
        }
    }
    let (_, extensions) = fields.find(|(tag, _)| *tag == EXTENSIONS)?;
    for (_, extension) in Der(extensions).content(SEQUENCE)? {
        let mut extension = Der(extension);
        if extension.content(OBJECT).is_some_and(|object| object.0 == ALTERNATIVE_NAMES) {
            let (_, value) = extension.find(|(tag, _)| *tag == OCTETS)?;
            let found = Der(value).content(SEQUENCE)?;
            found.filter(|(tag, _)| NAMES.contains(tag)).for_each(|(_, name)| add(name, names));
        }
    }
    Some(())
}

/// A name that people could write into a file, once.
fn add(text: &[u8], names: &mut Vec<String>) {
    if let Ok(name) = std::str::from_utf8(text)
        && !name.is_empty()
        && !name.contains(char::is_control)
        && !names.iter().any(|known| known == name)
    {
        names.push(name.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    fn certificate(name: &str) -> Vec<u8> {
        let path = format!("{}/tests/certificates/{name}", env!("CARGO_MANIFEST_DIR"));
        CertificateDer::from_pem_file(path).expect("a certificate").to_vec()
    }

    #[test]
    fn common_and_alternative_names_are_found() {
        assert_eq!(names(&certificate("client-cert.pem")), ["bob", "bob.example.com", "bob@example.com"]);
        // An address is no name.
        assert_eq!(names(&certificate("server-cert.pem")), ["localhost"]);
        assert_eq!(names(&certificate("ca-cert.pem")), ["ca"]);
    }

    #[test]
    fn what_is_no_certificate_has_no_names_that_it_has_not() {
        let whole = certificate("client-cert.pem");
        for short in 0..whole.len() {
            assert!(names(&whole[..short]).is_empty(), "of {short} bytes: its length says more");
        }
        for at in 0..whole.len() {
            let mut wrong = whole.clone();
            wrong[at] ^= 0xff;
            assert!(names(&wrong).len() <= 3);
        }
        // A length that runs over, and one of no end.
        assert!(names(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0x30]).is_empty());
        assert!(names(&[0x30, 0x80, 0x30, 0x00]).is_empty());
    }
}
