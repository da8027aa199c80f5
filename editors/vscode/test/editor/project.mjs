// The project that the tests open.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const FILES = {
  'src/auth.py': `def authenticate_user(name, password):
    """Check a login against the user table."""
    row = load_account(name)
    return row is not None and row.verify(password)
`,
  'src/orders.py': `class Order:
    def __init__(self, items):
        self.items = items

    def total_price(self):
        return sum(item.price for item in self.items)
`,
  'src/pool.ts': `export class DatabaseConnection {
  configurePool(size: number, timeout: number): void {
    this.poolSize = size;
    this.poolTimeout = timeout;
  }
}
`,
  'src/stamps.py': `def stamp_parcel(weight):
    """Stamp a parcel by its weight."""
    first = weight * 2
    return first + 1


def stamp_letter(weight):
    """Stamp a letter by its weight."""
    second = weight * 3
    return second + 2
`,
  'README.md': '# Shop\n\nA small shop. Orders are priced, logins are checked, connections are pooled.\n',
  '.env': 'DATABASE_PASSWORD=hunter2hunter2\n',
  '.gitignore': 'generated/\n',
  'generated/out.py': "def generated_wombat():\n    return 'ignored by git, so never read'\n",
};

/** Writes the small shop, and enough other code under `bulk/` that indexing can be watched. */
export function writeProject(root, bulk = 400) {
  const write = (name, text) => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  };
  for (const [name, text] of Object.entries(FILES)) write(name, text);
  for (let file = 0; file < bulk; file += 1) {
    const functions = Array.from(
      { length: 40 },
      (_, i) => `def function_${file}_${i}(value):\n    result = value * ${i}\n    return result + ${file}\n`,
    );
    write(`bulk/package${file % 20}/module${file}.py`, functions.join('\n\n'));
  }
}
