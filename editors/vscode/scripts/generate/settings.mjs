// The server's settings as VS Code's manifest wants them.

// A workspace's settings file comes with a clone: it must say neither where on the disk something is written nor
// where text is sent.
const USER_ONLY = new Set(['cacheFolder', 'storage', 'models', 'store', 'limits', 'httpProxy']);

// Sent by the extension, from settings that the editor has already.
const FROM_EDITOR = new Set(['editorExclude']);

/** A block of `contributes.configuration`. */
export function settingsBlock(settings) {
  const properties = {};
  for (const [key, spec] of Object.entries(settings.properties)) {
    if (FROM_EDITOR.has(key)) continue;
    const { description, ...rest } = spec;
    properties[`carrel.${key}`] = {
      ...rest,
      ...(rest.enum ? { type: 'string' } : {}),
      markdownDescription: description,
      scope: USER_ONLY.has(key) ? 'machine' : 'window',
    };
  }
  return { title: 'Project memory', properties };
}
