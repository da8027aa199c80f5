use super::work::Work;
use super::*;

/// Make up a token that stands nowhere: real-looking ones must not be in the repository.
fn made_up(alphabet: &str, length: usize, seed: u64) -> String {
    let digits: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        digits[(state % digits.len() as u64) as usize]
    };
    (0..length).map(|_| next()).collect()
}

const MIXED: &str = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789";

#[track_caller]
fn check(path: &str, text: &str, expected: &str) {
    let (masked, masks) = Detector::default().mask(path, text.to_owned());
    assert_eq!(masked, expected);
    assert_eq!(masked.lines().count(), text.lines().count());
    for mask in masks {
        assert!(masked[mask.start..mask.end].starts_with("[secret: "));
        assert!(!masked.contains(&text[mask.original_start..mask.original_end]));
    }
}

#[test]
fn known_forms_are_masked_wherever_they_stand() {
    let capitals = made_up("ABCDEFGHJKLMNPQRSTUVWXYZ234567", 16, 3);
    check("a.py", &format!("client(\"AKIA{capitals}\")"), "client(\"[secret: aws access token]\")");
    let token = made_up(MIXED, 36, 5);
    check("notes.md", &format!("Use gh{}{token} for it.", "p_"), "Use [secret: github pat] for it.");
    let jwt = format!("eyJ{}.eyJ{}.{}", made_up(MIXED, 20, 7), made_up(MIXED, 40, 9), made_up(MIXED, 43, 11));
    check("a.ts", &format!("fetch(url, '{jwt}')"), "fetch(url, '[secret: jwt]')");
    check(
        "a.go",
        "db := open(\"postgres://app:s3cr3tpw@db:5432/x\")",
        "db := open(\"postgres://app:[secret: url password]@db:5432/x\")",
    );
    check("a.js", "h = 'Basic YWRtaW46czNjcjN0cHc='", "h = 'Basic [secret: login]'");
}

#[test]
fn a_text_for_people_is_read_as_one_whatever_it_is_called() {
    let page = |value: &str| {
        format!(
            "How to reach the rack\n\nAsk the person on call before you open it.\nThe password is {value} and it changes every month.\n"
        )
    };
    for path in ["runbook.md", "RUNBOOK", "ops/rack.manual"] {
        check(path, &page("Harbor-falcon29!"), &page("[secret: password]"));
    }
}

#[test]
fn each_value_of_a_name_in_the_plural_is_masked() {
    let (one, two) = ("[secret: password]", "Harbor-falcon29!");
    let lists = [
        ("a.yaml", "passwords:\n  # of the gate\n  - {}\n  - '{}' # old\nport: 8080\n"),
        ("a.yaml", "admin_passwords: [{}, {}]\n"),
        ("a.yaml", "passwords:\n  alice: {}\n  bob: {}\nname: Falcon2029!x\n"),
        ("a.json", "{\"passwords\": {\"alice\": \"{}\", \"bob\": \"{}\"}, \"name\": \"Falcon2029!x\"}"),
        ("a.py", "PASSWORDS = [\n    '{}',\n    '{}',\n]\nNAME = 'Falcon2029!x'\n"),
        ("a.rs", "let passwords = vec![\"{}\", \"{}\"];\nlet name = \"Falcon2029!x\";"),
        ("a.kt", "val passwords = listOf(\"{}\", \"{}\")"),
        ("a.xml", "<passwords>\n<item>{}</item>\n<item n='2'>{}</item>\n</passwords><name>Falcon2029!x</name>"),
        ("a.md", "Passwords of the gate and\npasswords:\n\n- `{}`\n- {}\n\nFalcon2029!x\n"),
    ];
    for (path, form) in lists {
        check(path, &form.replace("{}", two), &form.replace("{}", one));
    }
    for (path, text) in [
        ("a.py", "tokens = {'root': [(r'0[xX][0-9a-fA-F]+[uU]?', Number), ('imageCube', Name)]}\n"),
        ("a.json", "{\"tokens\": {\"accent\": \"#1f2937a0\", \"shadow\": \"0 1px 2px\"}}"),
        ("a.yaml", "secrets: [gate-tls, orange-sunshine-v2]\npasswords:\nname: Falcon2029!x\n"),
        ("a.ts", "const passwords = [form.password2, loadPasswords('file-2024-a.csv')];"),
        (
            "a.rs",
            "let user_tokens = tokens_of(\"gpt-4-0613-1a2b3c4d\", &user);\nlet api_keys = keys_of(user, \"gpt-4-0613-1a2b3c4d\");",
        ),
        ("a.md", "We keep no passwords:\n\n- ask the person on call in room 2029!\n"),
    ] {
        check(path, text, text);
    }
}

#[test]
fn lines_of_a_key_keep_their_numbers() {
    let body = |seed| made_up(MIXED, 64, seed);
    let key = format!(
        "a = 1\n-----BEGIN RSA {} KEY-----\r\n{}\r\n{}\r\n-----END RSA {} KEY-----\nb = 2\n",
        "PRIVATE",
        body(1),
        body(2),
        "PRIVATE"
    );
    let expected =
        "a = 1\n-----BEGIN RSA PRIVATE KEY-----\r\n[secret: private key]\r\n\r\n-----END RSA PRIVATE KEY-----\nb = 2\n";
    check("a.txt", &key, expected);
    let escaped = format!("{{\"k\": \"-----BEGIN {} KEY-----\\n{}\\n-----END {} KEY-----\\n\"}}", "PRIVATE", body(3), "PRIVATE");
    check("a.json", &escaped, "{\"k\": \"-----BEGIN PRIVATE KEY-----\\n[secret: private key]\\n-----END PRIVATE KEY-----\\n\"}");
    check(
        "a.md",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    );
}

#[test]
fn code_between_the_marks_of_a_key_is_no_key() {
    let code = r#"if text.startswith("-----BEGIN RSA PRIVATE KEY-----"):
    for line_number, line in enumerate(lines_of(text)):
        keep(line_number, "-----END" in line)
"#;
    check("a.py", code, code);
}

#[test]
fn all_values_of_a_kubernetes_secret_are_masked() {
    let manifest = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: app\ndata:\n  any.thing: aHVudGVyMg==\nstringData:\n  note: |\n    several words\n---\nkind: ConfigMap\ndata:\n  color: blue\n";
    let expected = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: app\ndata:\n  any.thing: [secret: kubernetes secret]\nstringData:\n  note: |\n    [secret: kubernetes secret]\n---\nkind: ConfigMap\ndata:\n  color: blue\n";
    check("a.yaml", manifest, expected);
}

#[test]
fn ordinary_text_stays_as_it_is() {
    for (path, text) in [
        ("a.py", "password = get()\ntoken = tokens[0]\nurl = 'https://example.org/a@b'\n"),
        ("a.yaml", "password:\n  type: string\nimage: x@sha256:0123456789abcdef\nkind: SecretStore\ndata:\n  a: bcdef\n"),
        ("a.md", "AKIAIOSFODNN7EXAMPLE is an example. Basic authentication, bearer tokens.\nPassword: required\n"),
        ("a.js", "import key from './key'; const sk = 'task-runner-with-a-rather-long-name-of-parts';\n"),
    ] {
        check(path, text, text);
    }
}

#[test]
fn tables_give_values_to_the_names_beside_and_above() {
    let mask = "[secret: table]";
    for (path, text) in [
        ("a.md", "| password | {} |\n"),
        ("a.md", "| user | API key |\n|---|---|\n| svc | {} |\n"),
        ("a.csv", "url,username,password\nhttps://a.invalid,svc,{}\n"),
        ("a.tsv", "Password\t{}\n"),
        ("a.txt", "user        svc\nDB password   {}\n"),
        ("a.html", "<tr><td>Password</td><td class=\"x\">{}</td></tr>\n"),
        ("a.html", "<tr><th>user</th><th>password</th></tr>\n<tr><td>svc</td><td>{}</td></tr>\n"),
        ("a.html", "<dl><dt>Password</dt><dd>{}</dd></dl>\n"),
    ] {
        check(path, &text.replace("{}", "tQT5MZMKlR1k6V9"), &text.replace("{}", mask));
    }
    for (path, text) in [
        ("a.md", "| password | string | of the user |\n"),
        ("a.md", "| token | no | 8 characters |\n"),
        ("a.txt", "check_password(password, encoded1, setter=None)\n"),
        ("a.html", "<th>Password2:</th><td><ul class=\"errors1\"><li>Required.</li></ul></td>\n"),
    ] {
        check(path, text, text);
    }
}

#[test]
fn values_stand_where_people_write_them() {
    for (path, text) in [
        ("a.py", "# password: {}\n"),
        ("a.js", "const password = isProd ? env.P : '{}'\n"),
        ("a.md", "| user | x | password |\n|---|---|---|\n| bob |  | {} |\n"),
        ("a.xml", "<password type=\"x\">{}</password>\n"),
        ("a.xml", "<ns:password>\n  {}\n</ns:password>\n"),
        ("a.json", "{\"name\": \"DB_PASSWORD\", \"type\": \"x\", \"value\": \"{}\"}\n"),
        ("a.sh", ": ${PASSWORD:={}}\n"),
        ("a.sh", "mysql -p'{}' db\n"),
        ("a.html", "<TABLE><TR><TH>Password</TH></TR><TR><TD>{}</TD></TR></TABLE>\n"),
    ] {
        let text = text.replace("{}", "Hunter2!xyz9");
        assert!(!Detector::default().mask(path, text.clone()).0.contains("Hunter2"), "{text}");
    }
}

#[test]
fn a_long_value_is_masked_like_a_short_one() {
    for length in [40, 390, 400, 512, 2_000, 4_000] {
        for alphabet in ["0123456789abcdef", MIXED] {
            let value = made_up(alphabet, length, 13);
            for (path, form) in [
                ("a.py", "api_token = '{}'"),
                ("a.py", "client = Client(api_token=\"{}\")"),
                ("a.java", "String apiToken = \"{}\";"),
                ("a.json", "{\"api_token\": \"{}\"}"),
                ("a.yml", "api_token: {}"),
                ("a.sh", "export API_TOKEN={}"),
            ] {
                let (masked, _) = Detector::default().mask(path, form.replace("{}", &value));
                assert!(!masked.contains(&value), "{length} in {form}");
            }
        }
    }
}

#[test]
fn what_only_stands_near_a_name_stays() {
    for (path, text) in [
        ("a.py", "if user.get('password') != data.get('confirm'):\n"),
        ("a.py", "login(form.get('user'), form.get('password'), form.get('otp'))\n"),
        ("a.html", "<table><tr><th>Password</th></tr></table><table><tr><td>nginx1.25.3</td></tr></table>\n"),
        ("a.html", "<h2>Password</h2><p>Version2.0</p>\n"),
        ("a.csv", "id,token\n1,mp3player\n2,world2go\n"),
        ("a.md", "| user | password | mail |\n|---|---|---|\n| bob |  | bob2@x.de |\n"),
        ("a.sh", "docker run mysql -p3306:3306\n"),
        ("a.js", "createCipheriv(\"aes-128-ctr\", key, iv)\n"),
        ("package.json", "\"generate-password\": \"^1.7.0\"\n"),
        ("a.csproj", "PublicKeyToken=31bf3856ad364e35\n"),
        ("a.php", "'password' => 'required|min:8'\n"),
        ("a.js", "$('#password').addClass('col-md-6')\n"),
        ("ru.json", "\"password\": \"пароль\"\n"),
    ] {
        check(path, text, text);
    }
}

/// Forms of values that stand elsewhere than behind their name, or whose name or place is said otherwise.
const ELSEWHERE: &[(&str, &str)] = &[
    ("a.py", "user, password = \"svc\", \"{}\"\n"),
    ("a.go", "user, password := \"svc\", \"{}\"\n"),
    ("a.js", "const [user, password] = [\"svc\", \"{}\"];\n"),
    ("a.sql", "INSERT INTO users (id, name, password) VALUES\n(1, 'a', 'b'),\n(2, 'svc', '{}');\n"),
    ("a.sql", "COPY users (name, password) FROM stdin;\nsvc\t{}\n\\.\n"),
    ("a.html", "<input value=\"{}\" type=\"password\" name=\"password\">\n"),
    ("a.xml", "<setting name=\"Password\" serializeAs=\"String\"><value>{}</value></setting>\n"),
    ("a.c", "if (strcmp(password, \"{}\") == 0)\n"),
    ("a.java", "if (\"{}\".equals(password)) {}\n"),
    ("a.py", "if \"{}\" == password:\n"),
    ("a.yaml", "password:\n  {}\nhost: a\n"),
    ("a.md", "Password:\n\n    {}\n"),
    ("a.md", "login: admin / {}\n"),
    ("a.md", "user/pass: svc/{}\n"),
    ("a.md", "creds: bob:{}\n"),
    ("a.md", "| Service | Credentials |\n|---|---|\n| db | svc / {} |\n"),
    ("a.py", "CONFIG = \"\"\"\nuser = svc\npassword = {}\n\"\"\"\n"),
    ("a.rb", "CONFIG = <<~YAML\n  password: {}\nYAML\n"),
    ("a.py", "print(\"The password is {}\")\n"),
    ("a.py", "x = call()  # password: {}\n"),
    ("a.py", "password = os.environ[\"X\"]  # {}\n"),
    ("a.json", "{\"body\": \"{\\\"inner\\\":\\\"{\\\\\\\"password\\\\\\\":\\\\\\\"{}\\\\\\\"}\\\"}\"}\n"),
    ("a.xml", "<data>{&quot;password&quot;: &quot;{}&quot;}</data>\n"),
    ("a.md", "mot de passe : `{}`\n"),
    ("a.yml", "contraseña: {}\n"),
    ("a.properties", "db.wachtwoord={}\n"),
    ("a.py", "hasło = \"{}\"\n"),
    ("a.md", "Пароль: {}\n"),
    ("a.md", "密码：{}\n"),
    ("a.py", "client.login(\"svc\", \"{}\")\n"),
    ("a.py", "x = \"jdbc:oracle:thin:svc/{}@//db.invalid:1521/x\"\n"),
    ("a.md", "    smbclient //h/s -U svc%{}\n"),
    ("a.py", "x = \"postgres://svc:a#{}@db.invalid:5432/app\"\n"),
];

#[test]
fn values_elsewhere_than_behind_an_english_name_are_masked() {
    for (seed, (path, form)) in (1..).zip(ELSEWHERE) {
        for draw in 0..20 {
            let value = format!("{}-{}7", made_up(MIXED, 6, 1_000 * seed + draw), made_up(MIXED, 6, 1_000 * seed + draw + 500));
            let text = form.replacen("{}", &value, 1);
            let masked = Detector::default().mask(path, text.clone()).0;
            assert!(!masked.contains(&value), "{text}");
            assert_eq!(masked.lines().count(), text.lines().count());
        }
    }
}

#[test]
fn what_stands_beside_a_name_and_is_no_secret_stays() {
    for value in ["changeme", "${DB_PASSWORD}", "********", "example"] {
        for (path, form) in ELSEWHERE {
            let text = form.replacen("{}", value, 1);
            assert_eq!(Detector::default().mask(path, text.clone()).0, text, "{path}");
        }
    }
    for (path, text) in [
        ("a.py", "password, hashed = \"users.password\", \"x\"\n"),
        ("a.c", "if (strcmp(key, \"Content-Type\") == 0)\n"),
        ("a.sql", "INSERT INTO columns (name, password) VALUES ('a', 'varchar');\n"),
        ("a.md", "login: see the section below / above\n"),
        ("a.md", "See src/login.py:3-8, src/logout.py:3 and lib/login: x2/ab12cd34.\n"),
        ("a.md", "Senha: obrigatória\nПароль: обязательно\n"),
        ("a.py", "app.connect(\"clicked\", \"on_button_clicked\")\n"),
    ] {
        check(path, text, text);
    }
}

#[test]
fn work_beyond_the_text_is_bounded() {
    let mut work = Work::for_length(1_000);
    let taken = (0..1_000_000).take_while(|_| work.take(1_000)).count();
    assert!((8..2_000).contains(&taken), "{taken}");
}

#[test]
fn phrases_are_secrets_in_settings() {
    check("a.yml", "secret: correct-horse-battery-staple\n", "secret: [secret: token]\n");
    check(".env.x", "JWT_SECRET=superlongsigningphrase\n", "JWT_SECRET=[secret: token]\n");
    check(
        "a.yml",
        "secret: app-tls\nsecretName: wildcard-certificate-of-all\n",
        "secret: app-tls\nsecretName: wildcard-certificate-of-all\n",
    );
}

#[test]
fn a_person_adds_and_takes_rules() {
    let detector = |patterns: &[&str], paths: &[&str], rules: &[&str]| {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        Detector::new(&SecretOptions { patterns: owned(patterns), allow_paths: owned(paths), allow_rules: owned(rules) })
    };
    let text = "id = ACME-12345\npassword = 'hunter22'\n";
    let mask = |detector: Result<Detector>, path: &str| detector.unwrap().mask(path, text.to_owned()).0;
    assert_eq!(
        mask(detector(&["ACME-(\\d+)"], &[], &[]), "a.py"),
        "id = ACME-[secret: custom]\npassword = '[secret: password]'\n"
    );
    assert_eq!(mask(detector(&[], &["tests/**"], &[]), "tests/a.py"), text);
    assert_eq!(mask(detector(&[], &[], &["password"]), "a.py"), text);
    assert!(detector(&["("], &[], &[]).is_err());
    assert!(detector(&[], &["[a"], &[]).is_err());
}

#[test]
fn some_files_are_secrets_as_a_whole() {
    let reason = |path: &str, text: &str| Detector::default().whole(path, text, 0);
    assert_eq!(
        reason("x.json", "{\"type\": \"service_account\", \"private_key\": \"...\"}"),
        Some(SkipReason::ServiceAccountKey)
    );
    assert_eq!(
        reason("settings.xml", "<settings><servers><password>x</password></servers></settings>"),
        Some(SkipReason::MavenSettings)
    );
    assert_eq!(reason("settings.xml", "<settings><theme>dark</theme></settings>"), None);
    assert_eq!(reason("c.yaml", "clusters: []\ncontexts: []\nusers:\n- user:\n    token: x\n"), Some(SkipReason::Kubeconfig));
    assert_eq!(reason("a.json", "{\"_postman_variable_scope\": \"environment\"}"), Some(SkipReason::PostmanEnvironment));
    assert_eq!(reason("id", "-----BEGIN OPENSSH PRIVATE KEY-----\nx"), Some(SkipReason::PrivateKey));
    assert_eq!(reason("a.py", "KEY = '''-----BEGIN PRIVATE KEY-----'''"), None);
}

proptest::proptest! {
    #[test]
    fn any_text_can_be_masked_and_nothing_else_changes(text in "([a-z]{0,8}|password|token|key|://|@|:|=|'|\"|\n|\r|é|中|-----BEGIN PRIVATE KEY-----|basic |kind: secret|data:| ){0,40}") {
        let found = Detector::default().find("a.yaml", &text);
        let (masked, masks) = masked(&text, &found);
        let ends = |text: &str| text.chars().filter(|c| matches!(c, '\n' | '\r')).collect::<String>();
        proptest::prop_assert_eq!(ends(&masked), ends(&text));
        let mut at = 0;
        for mask in &masks {
            proptest::prop_assert!(mask.original_start >= at);
            at = mask.original_end;
        }
    }
}
