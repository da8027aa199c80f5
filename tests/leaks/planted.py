"""Two hundred secrets that open nothing, made up anew from a seed: no real-looking one stands in the repository."""

# ruff: noqa: E501, SIM905 - a table of lines and a list of names

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_MIXED = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + "234567"
_HEX = "0123456789abcdef"


@dataclass(frozen=True)
class Planted:
    """A file, and what of it must not come out."""

    path: str
    text: str
    secrets: tuple[str, ...]


class Maker:
    """Makes tokens of every form from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - the same ones again

    def chars(self, length: int, alphabet: str = _MIXED) -> str:
        """Characters of an alphabet, none of them twice in a row; with digits and letters where there are both."""
        while True:
            text = "".join(self._random.choice(alphabet) for _ in range(length))
            mixed = any(c.isdigit() for c in text) and any(c.isalpha() for c in text)
            if mixed or alphabet.isalpha() or alphabet.isdigit():
                return text

    def password(self) -> str:
        """What a person may choose."""
        words = ["Tiger", "winter", "Malta", "copper", "Violet", "harbour", "Falcon", "meadow"]
        return (
            self._random.choice(words) + self._random.choice("!#%+?") + self.chars(3, string.digits) + self._random.choice(words)
        )

    def word(self) -> str:
        """A plain word, long enough not to be another one's part."""
        vowels, consonants = "aeiou", "bdfgklmnprstv"
        return "".join(self._random.choice(consonants) + self._random.choice(vowels) for _ in range(5))

    def encoded(self, text: str) -> str:
        """In Base64."""
        return base64.b64encode(text.encode()).decode()

    def pem(self, kind: str = "RSA PRIVATE KEY", end: str = "\n") -> tuple[str, tuple[str, ...]]:
        """A private key, and its lines."""
        lines = tuple(self.chars(64, _MIXED + "+/") for _ in range(6))
        return f"-----BEGIN {kind}-----{end}" + end.join(lines) + f"{end}-----END {kind}-----", lines


def _tokens(m: Maker) -> list[tuple[str, str]]:
    """(kind, token) of forms that are told by themselves."""
    c = m.chars
    return [
        ("aws", "AKIA" + c(16, _UPPER)),
        ("aws", "ASIA" + c(16, _UPPER)),
        ("github", "ghp_" + c(36)),
        ("github", "gho_" + c(36)),
        ("github", "github_pat_" + c(22) + "_" + c(59)),
        ("gitlab", "glpat-" + c(20)),
        ("slack", f"xoxb-{c(12, string.digits)}-{c(12, string.digits)}-{c(24)}"),
        ("slack", f"xoxp-{c(12, string.digits)}-{c(12, string.digits)}-{c(12, string.digits)}-{c(32, _HEX)}"),
        ("stripe", "sk_live_" + c(24)),
        ("stripe", "rk_live_" + c(24)),
        ("stripe", "whsec_" + c(32)),
        ("google", "AIza" + c(35)),
        ("google", "GOCSPX-" + c(28)),
        ("google", "ya29." + c(60)),
        ("openai", "sk-" + c(20) + "T3BlbkFJ" + c(20)),
        ("openai", "sk-proj-" + c(48)),
        ("anthropic", "sk-ant-api03-" + c(93) + "AA"),
        ("npm", "npm_" + c(36)),
        ("pypi", "pypi-AgEIcHlwaS5vcmc" + c(70)),
        ("sendgrid", f"SG.{c(22)}.{c(43)}"),
        ("twilio", "SK" + c(32, _HEX)),
        ("digitalocean", "dop_v1_" + c(64, _HEX)),
        ("shopify", "shpat_" + c(32, _HEX)),
        ("huggingface", "hf_" + c(34, string.ascii_letters)),
        ("jwt", f"eyJ{c(33)}.eyJ{c(60)}.{c(43)}"),
        ("vault", "hvs." + c(90)),
        ("docker", "dckr_pat_" + c(27)),
        ("telegram", c(9, string.digits[1:]) + ":AA" + c(33)),
        ("azure", c(3) + "8Q~" + c(34)),
        ("mailgun", "key-" + c(32, _HEX)),
        ("groq", "gsk_" + c(52)),
        ("replicate", "r8_" + c(37)),
        ("vercel", "vercel_blob_rw_" + c(16) + "_" + c(30)),
        ("mapbox", f"sk.eyJ{c(60)}.{c(22)}"),
        ("xai", "xai-" + c(80)),
        ("pinecone", "pcsk_" + c(60)),
        ("netlify", "nfp_" + c(40)),
        ("langsmith", f"lsv2_pt_{c(32, _HEX)}_{c(10, _HEX)}"),
        ("figma", "figd_" + c(40)),
        ("tavily", "tvly-" + c(32)),
    ]


_SURROUNDINGS: list[Callable[[str, str], tuple[str, str]]] = [
    lambda kind, token: (f"{kind}.py", f'client = connect("{token}")  # the {kind} client of the shop\n'),
    lambda kind, token: (f"{kind}.ts", f"export const {kind}Client = new Client({{ apiKey: '{token}' }});\n"),
    lambda kind, token: (f"{kind}.go", f"func open{kind.title()}() *Client {{\n\treturn New({kind.upper()}, `{token}`)\n}}\n"),
    lambda kind, token: (f"{kind}.java", f'class {kind.title()} {{\n  static final String ACCESS = "{token}";\n}}\n'),
    lambda kind, token: (f"{kind}.yaml", f"services:\n  {kind}:\n    access: {token}\n    region: north\n"),
    lambda kind, token: (f"{kind}.md", f"# How to reach {kind}\n\nUse {token} until there is another.\n"),
    lambda kind, token: (f"{kind}.sh", f'curl -H "X-Access: {token}" https://{kind}.invalid/v1/items\n'),
    lambda kind, token: (f"{kind}.rb", f"# the {kind} access\nClient.configure {{ |c| c.access = '{token}' }}\n"),
    lambda kind, token: (f"{kind}.txt", f"Notes about {kind}: we log in with {token}, see the wiki.\n"),
    lambda kind, token: (f"{kind}.json", json.dumps({"service": kind, "access": token}, indent=2) + "\n"),
]


def _written(m: Maker) -> list[tuple[str, str, tuple[str, ...]]]:
    """(path, text, secrets) of what is told by its name or by what stands around it."""
    p, c, w = m.password, m.chars, m.word
    pem, lines = m.pem()
    openssh, ssh_lines = m.pem("OPENSSH PRIVATE KEY", "\r\n")
    flat, flat_lines = m.pem("PRIVATE KEY", "\\n")
    passwords = [p() for _ in range(35)]
    q = iter(passwords)
    n = q.__next__
    made: list[tuple[str, str, str]] = [
        (
            "pg.py",
            'engine = create_engine("postgresql+psycopg://shop:{}@db.internal:5432/shop")\n',
            n().replace("#", "x").replace("?", "y").replace("%", "z"),
        ),
        ("mongo.js", "mongoose.connect('mongodb+srv://admin:{}@cluster0.invalid/test');\n", c(18)),
        ("redis.yaml", "cache:\n  url: redis://:{}@redis.internal:6379/0\n", c(20)),
        ("amqp.go", 'conn, err := amqp.Dial("amqp://worker:{}@mq.internal/")\n', c(14)),
        ("git.sh", "git clone https://deploy:{}@git.invalid/shop.git\n", c(20)),
        ("Ado.cs", 'var text = "Server=db;Database=shop;User Id=sa;Password={};Encrypt=true";\n', n()),
        ("odbc.py", 'dsn = "host=db user=shop password={} dbname=shop"\n', c(12)),
        ("jdbc.properties", "spring.datasource.username=shop\nspring.datasource.password={}\n", n()),
        ("application.yml", "spring:\n  datasource:\n    username: shop\n    password: {}\n", n()),
        ("application-prod.yml", "spring:\n  datasource:\n    password: {}\n", w()),
        ("appsettings.json", '{{"Smtp": {{"Host": "mail", "Password": "{}"}}}}\n', n()),
        ("database.yml", "production:\n  adapter: mysql2\n  password: {}\n", w()),
        ("config.toml", '[database]\nuser = "shop"\npassword = "{}"\n', n()),
        ("settings.ini", "[mail]\nuser = shop\npasswd = {}\n", w()),
        ("hibernate.xml", '<property name="connection.password">{}</property>\n', n()),
        ("pool.xml", "<datasource><username>shop</username><password>{}</password></datasource>\n", w()),
        ("web.xml", '<add key="AdminPassword" value="{}" />\n', n()),
        ("compose.yaml", "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: {}\n", w()),
        ("compose-list.yaml", "services:\n  db:\n    environment:\n      - MYSQL_ROOT_PASSWORD={}\n", n()),
        ("deployment.yaml", "env:\n  - name: DB_PASSWORD\n    value: {}\n", n()),
        ("k8s.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: shop\ndata:\n  anything: {}\n", m.encoded(n())),
        ("Dockerfile", "FROM scratch\nENV DB_PASSWORD={}\n", n()),
        ("deploy.sh", "export DB_PASSWORD='{}'\n./deploy\n", n()),
        ("flags.sh", "./server --port 80 --password {} --quiet\n", n()),
        ("login.sh", "curl -u admin:{} https://shop.invalid/api\n", c(14)),
        ("backup.sh", "mysqldump -h db -u root -p{} shop > out\n", c(12)),
        ("settings.py", 'SECRET_KEY = "{}"\nDEBUG = False\n', c(50, _MIXED + "!@#%^*(-_=+)")),
        ("login.py", 'session.post(url, data={{"user": "shop", "password": "{}"}})\n', n()),
        ("keywords.py", 'connect(host="db", user="shop", password="{}")\n', n()),
        ("typed.py", 'class Settings:\n    db_password: str = "{}"\n', n()),
        ("Config.java", 'props.setProperty("db.password", "{}");\n', n()),
        ("Builder.kt", 'val client = Client.builder().user("shop").password("{}").build()\n', n()),
        ("wp.php", "define('AUTH_PASSWORD', '{}');\n", n()),
        ("config.rb", "config.smtp = {{ :user => 'shop', :password => '{}' }}\n", n()),
        ("config.rs", 'let config = Config {{ user: "shop".into(), password: "{}".into() }};\n', n()),
        ("auth.js", "headers: {{ Authorization: 'Basic {}' }}\n", m.encoded("shop:" + n())),
        ("bearer.md", "    GET /items\nAuthorization: Bearer {}\n", c(40)),
        ("bearer.py", 'headers = {{"Authorization": "Bearer {}"}}\n', c(40)),
        ("azure.json", '{{"store": "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={}=="}}\n', c(86)),
        ("aws.ini", "[default]\naws_secret_access_key = {}\n", c(40)),
        ("main.tf", 'provider "aws" {{\n  secret_key = "{}"\n}}\n', c(40)),
        (".yarnrc.yml", "npmRegistryServer: https://npm.invalid\nnpmAuthToken: {}\n", c(32)),
        ("users.sql", "CREATE USER shop IDENTIFIED BY '{}';\n", n()),
        (
            "cell.ipynb",
            '{{"cells": [{{"cell_type": "code", "source": ["password = \\"{}\\"\\n"], "metadata": {{}}, "outputs": []}}]}}\n',
            n(),
        ),
        ("users.py", 'USERS = {{"shop": "{}"}}\n', "$2b$12$" + c(53)),
        ("twilio.py", f'client = Client("AC{c(32, _HEX)}", "{{}}")\n', c(32, _HEX)),
        ("bot.py", 'url = "https://api.telegram.org/bot123456:{}/send"\n', "AA" + c(33)),
        ("jwk.json", '{{"kty": "EC", "crv": "P-256", "x": "a", "d": "{}"}}\n', c(43)),
        ("presigned.md", "[report](https://b.invalid/r.pdf?X-Amz-Expires=60&X-Amz-Signature={})\n", c(64, _HEX)),
        ("dsn.go", 'db, err := sql.Open("mysql", "svc:{}@tcp(db:3306)/shop")\n', c(14)),
        ("registry.sh", "docker login -u ci -p {} registry.invalid\n", c(20)),
        ("cache.sh", "redis-cli -h cache -a {} ping\n", c(16)),
        ("sign.js", "const t = jwt.sign({{ id: 1, role: 'x' }}, '{}');\n", c(24)),
        ("sign.py", 't = jwt.encode(claims, "{}", algorithm="HS256")\n', c(24)),
        ("cipher.py", 'box = Fernet(b"{}=")\n', c(43)),
        ("mac.py", 'mac = hmac.new(b"{}", body, "sha256")\n', c(24)),
        ("session.sh", "curl -H 'Cookie: theme=dark; sessionid={}' https://shop.invalid\n", c(32)),
        ("raw.js", 'headers["Authorization"] = "{}";\n', c(36)),
        ("CMakeLists.txt", 'set(API_KEY "{}")\n', c(32)),
        ("map.html", '<script src="https://maps.invalid/js?key={}"></script>\n', c(39)),
        ("logins.csv", "url,username,password\nhttps://shop.invalid,svc,{}\n", n()),
        ("Pulumi.prod.yaml", "config:\n  app:dbPassword: {}\n", c(14, string.ascii_letters)),
        ("env.php", "<?php return ['db' => ['password' => '{}']];\n", w()),
    ]
    found: list[tuple[str, str, tuple[str, ...]]] = [(path, text.format(secret), (secret,)) for path, text, secret in made]
    more: list[tuple[str, str, tuple[str, ...]]] = [
        ("signing.py", f'KEY = """{pem}"""\n\ndef sign(text):\n    return rsa(KEY, text)\n', lines),
        ("notes/ssh.md", f"# The key of the server\r\n\r\n{openssh}\r\n\r\nKeep it.\r\n", ssh_lines),
        ("push.json", f'{{"push": "{flat}"}}' + "\n", flat_lines),
    ]
    return [*found, *more]


def by_content(seed: int, count: int = 75) -> list[Planted]:
    """Secrets inside files that people need: settings, code, scripts, documents."""
    m = Maker(seed)
    found = [Planted(f"inside/{path}", text, secrets) for path, text, secrets in _written(m)]
    for at, (kind, token) in enumerate(_tokens(m)):
        name, text = _SURROUNDINGS[(at + seed) % len(_SURROUNDINGS)](kind, token)
        found.append(Planted(f"inside/{at}/{name}", text, (token,)))
    return found[:count] if count else found


NAMES = """.env .env.local .env.production prod.env .envrc kubeconfig kubeconfig.yaml kubeconfig-prod.yaml prod-kubeconfig.yml
accessKeys.csv rootkey.csv deploy_accessKeys.csv creds.json creds.yml db-creds.json credentials.json credentials.yml credentials.csv
gcp-credentials.json aws-credentials.ini service-account.json serviceAccountKey.json shop-firebase-adminsdk-a1.json sa-key.json
terraform.tfvars prod.tfvars prod.tfvars.json terraform.tfstate vault.yml group_vars/all/vault.yml prod_vault.yml vault_pass.txt
private_key.txt private-key.json jwt_private_key.txt server.key server.pem server.p12 id_rsa id_ed25519 key.ppk app.jks release.keystore
.npmrc .pypirc .netrc .pgpass .my.cnf .git-credentials .htpasswd .s3cfg .boto .dockercfg .docker/config.json .kube/config .aws/credentials
.ssh/config .m2/settings.xml maven/settings.xml sftp-config.json .vscode/sftp.json .ftpconfig filezilla.xml sitemanager.xml wp-config.php
cookies.txt session-cookies.txt cookies.json dump.sql db_dump.sql prod-backup.sql backup-2024.sql mysql_dump.sql
Prod.postman_environment.json shop.postman_globals.json postman_environment.json secrets.yml secrets.yaml secrets.json secrets.toml
secrets.ini app-secrets.yaml prod.secret.yml secret.json secrets.properties client_secret.json client_secret_1.json oauth2_client.json
token.txt github_token.txt token.json access_token.json refresh-token.txt tokens/access_token.txt auth.json api_keys.json api_key.txt
apikeys.yml passwords.txt passwords.csv db-passwords.yml passwd.txt password.json local.settings.json connectionStrings.config
credentials.xml rclone.conf gh/hosts.yml glab-cli/config.yml master.key config/master.key vpn.ovpn backup.kdbx msal_token_cache.json
accessTokens.json .terraformrc credentials.tfrc.json google-services.json prod.env.json pgpass.conf recovery_codes.txt
other/cluster.yaml other/account.json other/environment.json other/jar.txt other/deploy_key.txt""".split()


def _whole(name: str, m: Maker) -> tuple[str, tuple[str, ...]]:
    """What such a file holds. A word that nothing but its name can tell from others stands in each."""
    word = m.word() + m.word()
    if name.endswith("settings.xml"):
        return f"<settings><servers><server><password>{word}</password></server></servers></settings>\n", (word,)
    if name.startswith("other/"):
        pem, lines = m.pem()
        texts = {
            "other/cluster.yaml": f"apiVersion: v1\nclusters:\n- name: a\ncontexts: []\nusers:\n- name: b\n  user:\n    token: {word}\n",
            "other/account.json": json.dumps({"type": "service_account", "note": word, "private_key": pem}, indent=2),
            "other/environment.json": json.dumps(
                {"values": [{"key": "a", "value": word}], "_postman_variable_scope": "environment"}
            ),
            "other/jar.txt": f"# Netscape HTTP Cookie File\nshop.invalid\tTRUE\t/\tFALSE\t0\tsession\t{word}\n",
            "other/deploy_key.txt": pem + f"\n{word}\n",
        }
        return texts[name], (word, *(lines if name.endswith(("account.json", "deploy_key.txt")) else ()))
    return f"first line\nnote about shop {word}\nvalue {word}\n", (word,)


def by_name(seed: int, count: int = 125) -> list[Planted]:
    """Files that hold nothing but secrets."""
    m = Maker(seed + 1)
    return [Planted(f"named/{name}", *_whole(name, m)) for name in NAMES[:count]]


def write(root: Path, planted: list[Planted]) -> None:
    """Put them into a folder."""
    for one in planted:
        path = root / one.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one.text.encode())
