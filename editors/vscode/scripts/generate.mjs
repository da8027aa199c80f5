// Writes what the server's schema decides: src/protocol.ts and the server's settings in package.json.
// `node scripts/generate.mjs --check` writes nothing and fails when either is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { protocolSource } from './generate/protocol.mjs';
import { settingsBlocks } from './generate/settings.mjs';

const here = new URL('../', import.meta.url);
const schema = JSON.parse(readFileSync(new URL('../protocol.schema.json', here), 'utf8'));
const manifestFile = new URL('package.json', here);
const manifest = JSON.parse(readFileSync(manifestFile, 'utf8'));
manifest.contributes.configuration = settingsBlocks(schema.$defs.Settings, manifest.contributes.configuration);

const wanted = [
  [new URL('src/protocol.ts', here), protocolSource(schema)],
  [manifestFile, JSON.stringify(manifest, null, 2) + '\n'],
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
