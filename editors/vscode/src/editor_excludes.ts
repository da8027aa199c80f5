/** The editor's excludes, which are globs of its own kind, as lines of a .gitignore. */

const MOST_BRACES = 100;

/** The lines for a value of `files.exclude` or `search.exclude`. What is off, has a condition or can't be said so is left out. */
export function ignoreLines(excludes: unknown): string[] {
  if (typeof excludes !== 'object' || excludes === null) return [];
  return Object.entries(excludes)
    .filter(([, on]) => on === true)
    .flatMap(([glob]) => withoutBraces(glob.trim()))
    .flatMap(glob => ignoreLine(glob) ?? []);
}

/**
 * The editor's globs are matched with the whole path below the folder, so one without `**\/` in front is bound to the root;
 * what matches a folder leaves out all that is in it, in both.
 */
function ignoreLine(glob: string): string | undefined {
  const parts = glob.split('/').map(part => (part === '**' ? part : part.replace(/\*{2,}/g, '*')));
  const anywhere = parts[0] === '**';
  const folder = parts.length > 1 && ['', '**'].includes(parts.at(-1) ?? '');
  while (parts[0] === '**') parts.shift();
  if (parts.at(-1) === '') parts.pop();
  while (parts.at(-1) === '**') parts.pop();
  if (!parts.length) return anywhere ? '**/*' : undefined;
  // The editor never matches these, takes them literally, or takes them for faulty.
  if (parts.some(part => ['', '.', '..'].includes(part)) || /[\\\p{Cc}]/u.test(glob)) return undefined;
  if (/[[{}]/.test(glob.replace(/\[[^\]/]+\]/g, ''))) return undefined;
  return `${anywhere ? '**/' : '/'}${parts.join('/')}${folder ? '/' : ''}`;
}

/** `a.{b,c}` as `a.b` and `a.c`, from the innermost braces on; as it is where they can't be resolved. */
function withoutBraces(glob: string): string[] {
  let globs = [glob];
  while (globs.length < MOST_BRACES) {
    const next = globs.flatMap(one => {
      const found = /^(.*)\{([^{}]*)\}(.*)$/s.exec(one);
      const [, before = '', choices = '', after = ''] = found ?? [];
      return found ? choices.split(',').map(choice => before + choice + after) : [one];
    });
    if (next.length === globs.length && next.every((one, at) => one === globs[at])) return globs;
    globs = [...new Set(next)];
  }
  return [glob];
}
