//! Files that are left out as a whole because of what is in them, whatever they are called.

use std::path::Path;

use crate::base::types::SkipReason;

/// Names that hold secrets as often as not: such a file is left out where a secret is found in it. In small letters.
const DOUBTFUL: &[&str] = &["vault", "nuget.config", "web.config", "insomnia"];

/// Tell why a file holds nothing but secrets, if it does. `found` are the secrets that were seen in it.
pub(super) fn reason(path: &str, text: &str, found: usize) -> Option<SkipReason> {
    let name = Path::new(path).file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let has = |word: &str| text.contains(word);
    match ending {
        "json" if has("\"type\"") && has("service_account") && has("\"private_key\"") => Some(SkipReason::ServiceAccountKey),
        "json" if has("_postman_variable_scope") => Some(SkipReason::PostmanEnvironment),
        "yaml" | "yml" | "conf" | "json" | "" if is_kubeconfig(text) => Some(SkipReason::Kubeconfig),
        "xml"
            if name.starts_with("settings")
                && has("<servers>")
                && (has("<password>") || has("<privateKey>") || has("<passphrase>")) =>
        {
            Some(SkipReason::MavenSettings)
        }
        "txt" | "" | "log"
            if text.trim_start().starts_with("# Netscape HTTP Cookie File")
                || text.trim_start().starts_with("# HTTP Cookie File") =>
        {
            Some(SkipReason::Cookies)
        }
        _ if has("$ANSIBLE_VAULT;") && text.trim_start().starts_with("$ANSIBLE_VAULT;") => Some(SkipReason::SecretsInside),
        _ if is_private_key(text) => Some(SkipReason::PrivateKey),
        "yaml" | "yml" | "json" | "config" | "xml" if found > 0 && DOUBTFUL.iter().any(|word| name.contains(word)) => {
            Some(SkipReason::SecretsInside)
        }
        _ => None,
    }
}

/// Tell whether a text names clusters with what opens them.
fn is_kubeconfig(text: &str) -> bool {
    let has = |word: &str| text.contains(word);
    has("clusters")
        && has("users")
        && has("contexts")
        && (has("client-key-data") || has("client-certificate-data") || has("token:") || has("password:") || has("\"token\""))
}

/// Tell whether a file is a private key: it begins with one.
fn is_private_key(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default();
    first.starts_with("-----BEGIN") && first.contains("PRIVATE KEY") || first.starts_with("PuTTY-User-Key-File-")
}
