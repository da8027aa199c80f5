// Writes what the server's schema decides: src/protocol.ts, the server's settings in package.json, their texts in package.nls.json.
// `node scripts/generate.mjs --check` writes nothing and fails when either is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { protocolSource } from './generate/protocol.mjs';
import { settingsBlocks } from './generate/settings.mjs';

const here = new URL('../', import.meta.url);
const schema = JSON.parse(readFileSync(new URL('../protocol.schema.json', here), 'utf8'));
const manifestFile = new URL('package.json', here);
const manifest = JSON.parse(readFileSync(manifestFile, 'utf8'));
const textsFile = new URL('package.nls.json', here);
const texts = JSON.parse(readFileSync(textsFile, 'utf8'));
const before = JSON.stringify(manifest.contributes.configuration);
manifest.contributes.configuration = settingsBlocks(schema.$defs.Settings, manifest.contributes.configuration, texts);
const now = JSON.stringify(manifest.contributes.configuration);
// A setting that the server has no more takes its text with it.
for (const key in texts) if (before.includes(`%${key}%`) && !now.includes(`%${key}%`)) delete texts[key];

const wanted = [
  [new URL('src/protocol.ts', here), protocolSource(schema)],
  [manifestFile, JSON.stringify(manifest, null, 2) + '\n'],
  [textsFile, JSON.stringify(texts, null, 2) + '\n'],
];
const check = process.argv.includes('--check');
for (const [file, text] of wanted) {
  if (readFileSync(file, { encoding: 'utf8', flag: 'a+' }) === text) continue;
  if (check) {
    console.error(`${file.pathname.split('/').slice(-2).join('/')} is out of date: run npm run generate`);
    process.exitCode = 1;
  } else {
    writeFileSync(file, text);
  }
}
