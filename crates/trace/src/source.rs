//! Files opened in place, compressed or not. Compression is recognised by magic bytes, not by name.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use block::{At, BadInput};
use flate2::bufread::GzDecoder;

/// The bytes of a trace, decompressed.
pub(crate) struct TraceSource {
    /// The file as errors name it.
    pub file: String,
    pub bytes: Box<dyn Read + Send>,
    /// What is being decompressed, if anything: `gzip`.
    pub packing: Option<&'static str>,
    /// Where it can be read in any order, if it can.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "Parquet alone is read in another order"))]
    pub path: Option<PathBuf>,
}

/// Memory that an xz file may ask for; `xz -9` asks for 65 MiB.
const XZ_MEMORY: u64 = 256 << 20;

/// The byte with which each member of a gzip file begins.
const GZIP: u8 = 0x1f;

/// What is wrong where a gzip file goes on behind its last member.
const FOLLOWED: &str = "bytes that are not gzip's follow its end";

/// The longest of the magic numbers below.
const MAGIC_BYTES: u64 = 6;

impl TraceSource {
    /// Opens a trace and decompresses it where its first bytes say so.
    pub fn open(path: &Path) -> Result<TraceSource, BadInput> {
        let name = path.display().to_string();
        let bad = |what: String, mend: &str| BadInput::new(name.clone(), At::File, what, mend);
        let cannot = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => bad("there is no such file".into(), "check the path"),
            io::ErrorKind::PermissionDenied => bad("permission to read it is denied".into(), "chmod +r, or copy it"),
            _ => bad(format!("cannot be opened: {error}"), "check the path and the file"),
        };
        let file = File::open(path).map_err(cannot)?;
        if file.metadata().map_err(cannot)?.is_dir() {
            return Err(bad("this is a directory".into(), "name a trace file in it"));
        }
        let source = TraceSource::unpack(&name, file).map_err(cannot)?;
        // Of what is no plain file, a pipe, there is one order only.
        let plain = source.packing.is_none() && path.is_file();
        Ok(TraceSource { path: plain.then(|| path.to_owned()), ..source })
    }

    /// The bytes of `raw`, called `file`, decompressed if need be.
    pub fn unpack(file: &str, mut raw: impl Read + Send + 'static) -> io::Result<TraceSource> {
        let mut magic = Vec::new();
        raw.by_ref().take(MAGIC_BYTES).read_to_end(&mut magic)?;
        let all = io::Cursor::new(magic.clone()).chain(raw);
        let (bytes, packing): (Box<dyn Read + Send>, _) = match magic.as_slice() {
            [0x1f, 0x8b, ..] => (Box::new(GzipMembers::new(BufReader::new(all))), Some("gzip")),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => (Box::new(zstd::stream::read::Decoder::new(all)?), Some("zstd")),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => (Box::new(bzip2::read::MultiBzDecoder::new(all)), Some("bzip2")),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => {
                let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, liblzma::stream::CONCATENATED)?;
                (Box::new(liblzma::read::XzDecoder::new_stream(all, stream)), Some("xz"))
            }
            _ => (Box::new(all), None),
        };
        Ok(TraceSource { file: file.to_owned(), bytes, packing, path: None })
    }
}

/// The members of a gzip file, joined: each is compressed by itself. Zeros after the last are padding, as gzip has it.
struct GzipMembers<R: BufRead>(Option<GzDecoder<R>>);

impl<R: BufRead> GzipMembers<R> {
    /// Reads from where a member begins.
    fn new(raw: R) -> GzipMembers<R> {
        GzipMembers(Some(GzDecoder::new(raw)))
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let count = member.read(into)?;
            if count > 0 || into.is_empty() {
                return Ok(count);
            }
            let Some(mut raw) = self.0.take().map(GzDecoder::into_inner) else { break };
            match first_after_zeros(&mut raw)? {
                None => break,
                Some(GZIP) => self.0 = Some(GzDecoder::new(raw)),
                Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, FOLLOWED)),
            }
        }
        Ok(0)
    }
}

/// The next byte that is not 0, which is not taken.
fn first_after_zeros(raw: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        let bytes = raw.fill_buf()?;
        let Some(&first) = bytes.first() else { return Ok(None) };
        if first != 0 {
            return Ok(Some(first));
        }
        raw.consume(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_gzip_data_is_told_unless_it_is_padding() {
        let mut whole = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut whole, b"text").unwrap();
        let whole = whole.finish().unwrap();
        let read = |after: &[u8]| {
            let mut source = TraceSource::unpack("a", io::Cursor::new([&whole, after].concat())).unwrap();
            let mut all = Vec::new();
            source.bytes.read_to_end(&mut all).map(|_| all).map_err(|error| (error.kind(), error.to_string()))
        };
        assert_eq!(read(b""), Ok(b"text".to_vec()));
        assert_eq!(read(&[0; 1000]), Ok(b"text".to_vec()));
        for after in [&b"\n"[..], b"more than the head of a member", b"\0\0x"] {
            assert_eq!(read(after), Err((io::ErrorKind::InvalidData, FOLLOWED.into())), "{after:?}");
        }
        for cut in 3..whole.len() {
            assert_eq!(
                read(&whole[..cut]).unwrap_err().0,
                io::ErrorKind::UnexpectedEof,
                "{cut} bytes of a second member"
            );
        }
    }

    #[test]
    fn every_packing_opens_by_its_magic_and_joins_its_streams() {
        let text = b"some bytes".repeat(1000);
        let mut packed = vec![(None, text.clone())];
        let read = |mut input: Box<dyn Read>| {
            let mut all = Vec::new();
            input.read_to_end(&mut all).unwrap();
            all
        };
        let gz = flate2::read::GzEncoder::new(io::Cursor::new(text.clone()), flate2::Compression::fast());
        packed.push((Some("gzip"), read(Box::new(gz))));
        let bz = bzip2::read::BzEncoder::new(io::Cursor::new(text.clone()), bzip2::Compression::fast());
        packed.push((Some("bzip2"), read(Box::new(bz))));
        packed.push((Some("xz"), read(Box::new(liblzma::read::XzEncoder::new(io::Cursor::new(text.clone()), 1)))));
        packed.push((Some("zstd"), zstd::stream::encode_all(text.as_slice(), 1).unwrap()));
        for (packing, bytes) in packed {
            let mut source = TraceSource::unpack("a", io::Cursor::new(bytes.repeat(2))).unwrap();
            let mut all = Vec::new();
            source.bytes.read_to_end(&mut all).unwrap();
            assert_eq!(source.packing, packing);
            assert!(all == text.repeat(2), "{packing:?}");
        }
    }
}
