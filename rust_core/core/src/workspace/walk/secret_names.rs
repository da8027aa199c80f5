//! Files that hold keys or passwords by convention: never read, whatever the ignore files say.
//!
//! Told by the name alone, and by the folder where a tool's own folder makes a common name (`config.json`) a secret. The names
//! are those of data: code that deals with secrets (`secrets.py`, `token.rs`) is code.
//!
//! Not by name: settings that people need and that may hold a password among others (`application.yml`, `appsettings.json`,
//! `database.yml`, `.yarnrc.yml`, `docker-compose.yml`) are read with the values masked; names that are as often harmless
//! (`settings.xml`, `vault-deployment.yaml`) are decided by what is in the file. Both in `crate::index::secrets`.

use std::path::Path;
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
    ".s3cfg",
    ".boto",
    "rclone.conf",
    "credentials",
    "*credentials.json",
    "credentials.y*ml",
    "credentials[-._]*.{json,y*ml,toml,ini,csv,txt}",
    "credentials.{toml,ini,csv,txt,tfrc,xml,properties}",
    ".terraformrc",
    "terraform.rc",
    "secrets",
    "secret{,s}.{json,y*ml,toml,ini,txt,xml,properties}",
    "secret{,s}.*.{json,y*ml,toml,ini,txt}",
    "*[-._]secret{,s}.{json,y*ml,toml,ini,txt}",
    "*.secret",
    "password{,s}.{txt,csv,json,y*ml}",
    "passwd{,s}.{txt,csv}",
    "token.txt",
    "*[-_]token.txt",
    "{access,auth,oauth,refresh,api}[-_]token{,s}.json",
    "accesstokens.json",
    "msal_token_cache*.json",
    "api{,-,_}key{,s}.{txt,json,y*ml}",
    "*.env.{json,y*ml}",
    "local.settings.json",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "*service{,-,_}account*.json",
    "*firebase-adminsdk*.json",
    "{,*[-_.]}sa[-_]key*.json",
    "google-services.json",
    "client[-_]secret*.json",
    "kubeconfig",
    "master.key",
    ".vault-token",
    "token.json",
    "auth.json",
    "htpasswd",
    // Clusters with the certificates and tokens that open them.
    "*kubeconfig*.{y*ml,json,conf,txt}",
    // What clouds let one download once.
    "{,*[-_.]}{access,root,secret}{,-,_}key{,s}{,[-_.]*}.{csv,txt,json}",
    "*_accesskeys.csv",
    // Short for credentials.
    "{,*[-_.]}creds{,[-_.]*}.{json,y*ml,toml,ini,csv,txt,xml,properties,conf}",
    "credentials-config.json",
    "*[-_.]credentials.{y*ml,toml,ini,csv,txt,xml,properties,conf}",
    "*.tfvars.json",
    "*.auto.tfvars*",
    // Variables of Ansible that are kept apart because they are secret, and the passwords that open them.
    "vault.y*ml",
    "vault{,-,_}{vars,secrets,passwords,creds}.y*ml",
    "{group,host}_vars_vault.y*ml",
    "*[-_.]vault.y*ml",
    "{,.}vault{,-,_}pass{,word}*",
    "{,*[-_.]}private{,-,_}key{,s}{,[-_.]*}.{txt,json,y*ml,xml,asc,pub.bak}",
    "{,*[-_.]}{api,auth,signing,encryption,license,ssh,deploy}{,-,_}key{,s}.txt",
    // Where editors upload to, with the password.
    "sftp{,-config}{,-alt*}.json",
    ".ftpconfig",
    "ftpconfig",
    ".remote-sync.json",
    "{sitemanager,recentservers,filezilla}.xml",
    // Nothing but a database's password and salts.
    "wp-config.php",
    "connectionstrings.{config,json,xml}",
    // Sessions of a browser.
    "{,*[-_.]}cookies.{txt,json,sqlite,db}",
    // People's data, and the hashes of their passwords.
    "{,*[-_.]}{dump,backup}{,[-_.0-9]*}.{sql,json,csv,xml,y*ml}",
    "{mysql,pg,db,database}{,-,_}{dump,backup}*.{sql,txt,json}",
    "*.dump",
    "*.postman_environment.json",
    "*.postman_globals.json",
    "postman{,-,_}{environment,globals}*.json",
    "pgpass{,.conf}",
    ".mylogin.cnf",
    ".authinfo",
    ".mongorc.js",
    ".passwd*",
    "passwd-s3fs",
    "shadow",
    ".htdigest",
    "{,*[-_.]}{secret,secrets}.{tfvars,hcl,csv,conf,cfg}",
    "secret{,s}.{csv,conf,cfg,hcl}",
    "{,*[-_.]}{password,passwords,passwd}.{txt,csv,json,y*ml,xml,ini,conf,properties,kdb}",
    "{,*[-_.]}{refresh,bearer,access,id,oauth,session}{,-,_}token{,s}.{txt,json}",
    "client{,-,_}secret{,s}{,[-_.]*}.json",
    "oauth{,2}{,-,_}{client,credentials,creds,secrets}{,[-_.]*}.json",
    ".terraform.tfstate.lock.info",
    "{,*[-_.]}{keystore,truststore}.{properties,p12,jks,bcfks}",
    "recovery{,-,_}codes.txt",
    "{,*[-_.]}backup{,-,_}codes.txt",
    "{,*[-_.]}seed{,-,_}phrase.txt",
    "mnemonic.txt",
    // What shells and clients of databases remember, passwords that were typed among it.
    ".*_history",
    "ssh_host_*_key",
    "{,.}{token,password,passwd,passphrase,secret,credential,creds,apikey,api_key,api-key}",
    ".{secrets,credentials,curlrc,fetchmailrc,msmtprc,muttrc}",
    "*.{token,secrets,password,passwd,passphrase,cred,creds,credential,credentials,jwk,jceks,bcfks,agekey,kdb}",
];

/// Folder and name, in lower case: what a tool keeps in its own folder.
const SECRET_IN: &[&str] = &[
    ".docker/config.json",
    ".azure/*.json",
    ".kube/config",
    ".kube/*.{json,y*ml}",
    ".ssh/*",
    ".gnupg/*",
    "gcloud/*.{json,db}",
    ".m2/settings*.xml",
    "gh/hosts.y*ml",
    "glab-cli/config.y*ml",
    ".aws/*",
    ".cargo/credentials*",
    ".gem/credentials",
    ".vscode/sftp.json",
    ".config/hub",
    "doctl/config.y*ml",
    "ngrok/ngrok.yml",
    ".ngrok2/ngrok.yml",
    "rclone/rclone.conf",
    "ssh/*_key",
];

/// Endings that copies of a secret get. Without them the name is looked at again.
const COPIES: &[&str] = &[".txt", ".bak", ".old", ".orig", ".save", ".backup", ".copy", "~"];

/// Templates of the above, written to be shared.
const SHARED: &[&str] =
    &["*.example", "*.sample", "*.template", "*.dist", "*.example.*", "*.sample.*", "*.template.*", "*.schema.json"];

static SECRET_SET: LazyLock<GlobSet> = LazyLock::new(|| set(SECRET));
static SECRET_IN_SET: LazyLock<GlobSet> = LazyLock::new(|| set(SECRET_IN));
static SHARED_SET: LazyLock<GlobSet> = LazyLock::new(|| set(SHARED));

/// Tell whether the file at this path is left alone. Its name decides, and that of the folder it is in.
pub(super) fn is_secret(path: &Path) -> bool {
    let lower = |part: Option<&std::ffi::OsStr>| part.map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let (folder, name) = (lower(path.parent().and_then(Path::file_name)), lower(path.file_name()));
    if SHARED_SET.is_match(&name) {
        return false;
    }
    let mut name = name.as_str();
    loop {
        if SECRET_SET.is_match(name) || SECRET_IN_SET.is_match(format!("{folder}/{name}")) {
            return true;
        }
        match COPIES.iter().find_map(|ending| name.strip_suffix(ending)) {
            Some(original) => name = original,
            None => return false,
        }
    }
}

fn set(globs: &[&str]) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        if let Ok(glob) = GlobBuilder::new(glob).literal_separator(true).empty_alternates(true).build() {
            builder.add(glob);
        }
    }
    builder.build().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: bool, paths: &[&str]) {
        for path in paths {
            assert_eq!(is_secret(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn keys_are_secret_and_their_templates_are_not() {
        check(true, &[".env", ".ENV.local", "prod.env", "id_rsa", "server.PEM", "credentials.json", "secrets.yaml", ".npmrc"]);
        check(
            false,
            &[".env.example", "settings.sample.env", "secrets.example.yaml", "credentials.json.dist", ".env.schema.json"],
        );
        let globs = SECRET.len() + SECRET_IN.len() + SHARED.len();
        assert_eq!(SECRET_SET.len() + SECRET_IN_SET.len() + SHARED_SET.len(), globs, "every glob parses");
    }

    #[test]
    fn what_tools_write_is_secret_under_their_names() {
        check(
            true,
            &[
                "application_default_credentials.json",
                "home/.docker/config.json",
                ".azure/accessTokens.json",
                "credentials.tfrc.json",
                ".config/gh/hosts.yml",
                "local.settings.json",
                "secrets.yml",
                "deploy/db-secrets.yaml",
                "prod.secret.yml",
                "shop-firebase-adminsdk-x1y2.json",
                "ci-sa-key.json",
                "sa-key-prod.json",
                "serviceAccountKey.json",
                "my-service-account-prod.json",
                "server.pem.txt",
                ".env.bak",
                "id_ed25519.old~",
                "passwords.txt",
                "token.txt",
                "github_token.txt",
                "prod.env.json",
                "api_keys.json",
                ".kube/config",
                ".ssh/config",
                ".m2/settings.xml",
                "kubeconfig.yaml",
                "kubeconfig-prod.yml",
                "prod.kubeconfig.yaml",
                "accessKeys.csv",
                "deploy_accessKeys.csv",
                "rootkey.csv",
                "creds.json",
                "db-creds.yml",
                "prod.tfvars.json",
                "group_vars/all/vault.yml",
                "prod-vault.yaml",
                ".vault_pass.txt",
                "private_key.txt",
                "jwt-private-key.json",
                "sftp-config.json",
                "wp-config.php",
                "cookies.txt",
                "youtube_cookies.txt",
                "dump.sql",
                "prod-backup-2024.sql",
                "db_dump.sql",
                "Prod.postman_environment.json",
                "postman_environment.json",
                "connectionStrings.config",
                "filezilla.xml",
                ".bash_history",
                "github.token",
                "password",
                ".secrets",
            ],
        );
    }

    #[test]
    fn code_and_data_that_only_sound_secret_are_read() {
        check(
            false,
            &[
                "secrets.py",
                "token.rs",
                "passwords.go",
                "credentials.ts",
                "secret_service.java",
                "api_key.rb",
                "environment.py",
                "keyboard.ts",
                "credentials_provider.rs",
                "service_account.py",
                "firebase-adminsdk.d.ts",
                "tokens.json",
                "design-tokens.json",
                "tokens.txt",
                "config.json",
                "docker/config.json",
                "hosts.yml",
                "settings.json",
                "visa-keys.json",
                "notes.txt",
                "password_reset.html",
                "docs/secrets.md",
                "kube/config.yaml",
                "application.yml",
                "appsettings.json",
                "settings.xml",
                "schema.sql",
                "dumper.py",
                "backup.py",
                "cookies.py",
                "vault-deployment.yaml",
                "vault-values.yaml",
                "docker-compose.yml",
                "wp-config-sample.php",
                "public_key.txt",
                "kubeconfig.go",
                "database.yml",
                "access_key.md",
                "sftp.ts",
                "passwords.md",
            ],
        );
    }
}
