// The server's settings as VS Code's manifest wants them: in groups, the most used first.

// Sent by the extension, from settings that the editor has already.
const FROM_EDITOR = new Set(['editorExclude', 'editorLanguages']);

/** What each setting does, in the words of somebody who has just installed Carrel. The editor makes a heading of the key. */
const TITLES = {
  ragAutoIndex: 'Keep projects indexed',
  ragEnabled: 'Help other chats too',
  ragTopK: 'Places per answer',
  budget: 'How much of the project goes with a question',
  exclude: 'Files to leave out',
  excludedFolders: 'Folders to leave out',
  languages: 'Languages of files',
  secretPatterns: 'More secrets to hide',
  maxFileBytes: 'Largest file',
  models: 'Models beside the bundled one',
  limits: 'Limits for remote models',
  store: 'Where vectors are kept',
  audit: 'The record of what was given to whom',
  httpProxy: 'HTTP proxy for remote models',
};

/** The groups in their order; a setting that stands in none comes into the last one. */
const GROUPS = [
  { name: 'everyDay', title: 'Every day', keys: ['ragAutoIndex', 'ragEnabled', 'ragTopK', 'budget'] },
  {
    name: 'indexed',
    title: 'What is indexed',
    keys: ['exclude', 'excludedFolders', 'languages', 'secretPatterns', 'maxFileBytes'],
  },
  {
    name: 'models',
    title: 'Models',
    keys: ['models', 'limits', 'store', 'httpProxy', 'planner', 'plannerSeconds', 'rerank', 'rerankerSeconds', 'tokenizer'],
  },
  { name: 'fineTuning', title: 'Fine tuning', keys: [] },
];

/** Blocks of `contributes.configuration`; `own` are the extension's, of which the first comes second. Their texts go into `texts`, by key. */
export function settingsBlocks(settings, own, texts) {
  const named = (key, text) => {
    texts[key] = text;
    return `%${key}%`;
  };
  const left = Object.keys(settings.properties).filter(
    key => !FROM_EDITOR.has(key) && !GROUPS.some(({ keys }) => keys.includes(key)),
  );
  const blocks = GROUPS.map(({ name, title, keys }) => ({
    title: named(`group.${name}`, title),
    properties: Object.fromEntries(
      (keys.length ? keys : left).map((key, order) => [`carrel.${key}`, property(settings, key, order, named)]),
    ),
  }));
  const [everyDay, ...more] = blocks;
  const [chats, ...rest] = own.filter(({ title }) => !blocks.some(block => block.title === title));
  return [everyDay, chats, ...more, ...rest];
}

function property(settings, key, order, named) {
  const { description, personOnly, ...rest } = settings.properties[key];
  return {
    ...rest,
    ...(rest.enum ? { type: 'string' } : {}),
    markdownDescription: named(`setting.${key}`, TITLES[key] ? `**${TITLES[key]}.** ${description}` : description),
    // A workspace's settings file comes with a clone.
    scope: personOnly ? 'machine' : 'window',
    order,
  };
}
