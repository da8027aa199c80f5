// A server whose embedding model is remote, at a host that nobody reaches: the packaged server with tests/stand_in_carrel.py.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../../../tests/stand_in_carrel.py', import.meta.url));

/** Settings that choose it, and the keys that its model was asked with. */
export function standIn(editor) {
  const { folder } = editor;
  const libraries = fileURLToPath(new URL('../../bundled/libs', import.meta.url)); // what the package's archive was made of
  const keys = join(folder, 'stand_in_keys');
  const program = join(folder, 'stand_in.sh');
  writeFileSync(keys, '');
  writeFileSync(
    program,
    `#!/bin/sh
python=\${PYTHON:-python3}
compiled=cp$("$python" -c 'import sys; print("%d%d" % sys.version_info[:2])')
export PYTHONPATH='${libraries}'/"$compiled":'${libraries}/common' CARREL_STAND_IN='${keys}'
exec "$python" -P '${script}' "$@"
`,
  );
  chmodSync(program, 0o755);
  return {
    settings: { 'carrel.server.path': program, 'carrel.models': { embedder: { provider: 'stand-in' } } },
    keys: () => readFileSync(keys, 'utf8').split('\n').filter(Boolean),
  };
}
