//! Files that hold keys or passwords by convention: never read, whatever the ignore files say (spec A11).

use std::sync::LazyLock;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Names, in lower case, by convention of the tools that write them.
const SECRET: &[&str] = &[
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.p8",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "*.asc",
    "*.gpg",
    "*.ovpn",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    ".pgpass",
    ".my.cnf",
    ".dockercfg",
    ".git-credentials",
    "credentials",
    "credentials.json",
    "credentials.y*ml",
    "credentials.toml",
    "credentials.ini",
    "credentials.csv",
    "secrets",
    "secrets.json",
    "secrets.y*ml",
    "secrets.toml",
    "secret.json",
    "secret.y*ml",
    "*.secret",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "service-account*.json",
    "service_account*.json",
    "google-services.json",
    "client_secret*.json",
    "kubeconfig",
    "master.key",
    ".vault-token",
    "token.json",
    "auth.json",
    "htpasswd",
];

/// Templates of the above, written to be shared.
const SHARED: &[&str] = &["*.example", "*.sample", "*.template", "*.dist", "*.example.*", "*.sample.*", "*.template.*"];

static SECRET_SET: LazyLock<GlobSet> = LazyLock::new(|| set(SECRET));
static SHARED_SET: LazyLock<GlobSet> = LazyLock::new(|| set(SHARED));

/// Whether a file of this name is left alone.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_SET.is_match(&name) && !SHARED_SET.is_match(&name)
}

fn set(globs: &[&str]) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        if let Ok(glob) = GlobBuilder::new(glob).literal_separator(true).build() {
            builder.add(glob);
        }
    }
    builder.build().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_secret_and_their_templates_are_not() {
        for name in [".env", ".ENV.local", "prod.env", "id_rsa", "server.PEM", "credentials.json", "secrets.yaml", ".npmrc"] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            ".env.example",
            "settings.sample.env",
            "environment.py",
            "secrets.py",
            "keyboard.ts",
            "credentials_provider.rs",
            "tokens.json",
        ] {
            assert!(!is_secret(name), "{name}");
        }
        assert_eq!(SECRET_SET.len(), SECRET.len(), "every glob parses");
    }
}
