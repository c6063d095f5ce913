//! Castagnoli's checksum (CRC32C), as iSCSI, ext4 and btrfs have it: eight bytes at a time by tables (Kounavis and Berry, A systematic
//! approach to building high performance software-based CRC generators, 2005).

/// The polynomial, its bits in reverse.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// What a byte makes of a sum when so many bytes follow it.
static TABLES: [[u32; 256]; 8] = make_tables();

const fn make_tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u32, 0);
        while bit < 8 {
            sum = (sum >> 1) ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut at = 256;
    while at < 8 * 256 {
        let before = tables[at / 256 - 1][at % 256];
        tables[at / 256][at % 256] = (before >> 8) ^ tables[0][(before & 0xFF) as usize];
        at += 1;
    }
    tables
}

/// The checksum of bytes.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let part = |table: usize, word: u32, shift: u32| TABLES[table][(word >> shift & 0xFF) as usize];
    let sum = eights.iter().fold(u32::MAX, |sum, [a, b, c, d, e, f, g, h]| {
        let (low, high) = (u32::from_le_bytes([*a, *b, *c, *d]) ^ sum, u32::from_le_bytes([*e, *f, *g, *h]));
        part(7, low, 0)
            ^ part(6, low, 8)
            ^ part(5, low, 16)
            ^ part(4, low, 24)
            ^ part(3, high, 0)
            ^ part(2, high, 8)
            ^ part(1, high, 16)
            ^ part(0, high, 24)
    });
    !rest.iter().fold(sum, |sum, byte| part(0, sum ^ u32::from(*byte), 0) ^ (sum >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::Draw;

    #[test]
    fn it_is_that_of_its_publication() {
        // RFC 3720, B.4; and the check value of the catalogue of CRCs.
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn of_any_bytes_it_is_what_it_is_bit_by_bit() {
        let step = |sum: u32| (sum >> 1) ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 };
        let mut draw = Draw::new(5, 0);
        for length in 0..100 {
            let bytes: Vec<u8> = (0..length).map(|_| draw.below(256) as u8).collect();
            let plain =
                bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum)));
            assert_eq!(crc32c(&bytes), !plain, "{bytes:?}");
        }
    }
}
