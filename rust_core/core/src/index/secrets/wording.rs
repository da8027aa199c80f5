//! Whether letters are words or names that are made of words, or came about by chance.

use super::named::words_of;

/// Tell whether a value of letters alone is no word and no name that is made of words: `qZXFTbIghIUPGq`. Words in names have four
/// letters and more in the mean; one of 20,000 random values of 14 letters passes for a name.
pub(super) fn is_jumble(value: &str) -> bool {
    let letters = value.bytes().all(|b| b.is_ascii_alphabetic());
    letters && (words_of(value).len() * 4 > value.len() || familiarity(value) < 0.75)
}

/// Tell whether a value is made of words and small numbers: `refresh-token-v2`, `X-Api-Key`, `accessToken`.
pub(super) fn is_wordlike(value: &str) -> bool {
    let parts: Vec<&str> = value.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    // Crumbs between signs are no words.
    if value.len() >= 12 && parts.iter().map(|part| part.len()).sum::<usize>() < 3 * parts.len() {
        return false;
    }
    parts.iter().all(|part| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = part.len() - letters.len();
        if letters.is_empty() {
            return number <= 4;
        }
        number <= 2 && letters.bytes().all(|b| b.is_ascii_alphabetic()) && is_pronounceable(letters)
    })
}

/// Tell whether letters look like words: their pairs are those of words, and capitals begin words.
fn is_pronounceable(letters: &str) -> bool {
    if letters.len() <= 4 {
        return true;
    }
    let all_capitals = letters.bytes().all(|b| b.is_ascii_uppercase());
    familiarity(letters) > 0.0 && (all_capitals || case_changes(letters) * 5 <= letters.len() + 3)
}

/// Return how much commoner the pairs of these letters are in words than by chance: the mean of the logarithms, in half nats. Names
/// of 8 letters are above 0 in 96 of 100 cases, random letters in 7; of 14 letters 97 and 2.
fn familiarity(letters: &str) -> f64 {
    let row = |byte: u8| usize::from(byte.to_ascii_lowercase() - b'a');
    let pairs = letters.as_bytes().windows(2).filter(|pair| pair.iter().all(u8::is_ascii_alphabetic));
    let (count, sum) =
        pairs.fold((0, 0.0), |(count, sum), pair| (count + 1, sum + f64::from(PAIRS[row(pair[0])][row(pair[1])]) - 53.0));
    sum / f64::from(count.max(1))
}

/// By first and second letter: 5 + 2 ln(frequency of the pair x 676), as a digit. Counted over the distinct words of the identifiers
/// in `CPython` 3.11's standard library.
const PAIRS: [&[u8; 26]; 26] = [
    b"87773462605978171989543452",
    b"75536301540732520552500140",
    b"83557317607642930647521040",
    b"74459431801533631554521120",
    b"85896753402879465998355750",
    b"53346730700512620544500020",
    b"51228235500524410653410000",
    b"71227101601221610424300020",
    b"65876560222779860688050406",
    b"20003000102000200000200000",
    b"30226121500402110242101000",
    b"82359311902732840256520060",
    b"84138100601443670153400030",
    b"73788692704434740289542020",
    b"45773552404779670867746310",
    b"82338314601612761756402050",
    b"10000000000000001110500000",
    b"83659452804565840677533050",
    b"63649336804543662379713040",
    b"83649417901543750876623162",
    b"46545430500668360767100000",
    b"62107000500000300010000000",
    b"50224103600203400441002200",
    b"32424401300120140115000630",
    b"21323100300334250244011162",
    b"30006000300000200000000007",
];

fn case_changes(value: &str) -> usize {
    value.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_lowercase() != pair[1].is_ascii_lowercase()).count()
}
