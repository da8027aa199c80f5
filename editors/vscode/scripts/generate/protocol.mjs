// JSON schema of the protocol to TypeScript. Knows just the forms that the server's schema uses and refuses others.

/** The text of src/protocol.ts. */
export function protocolSource(schema) {
  const { Settings: settings, ...structs } = schema.$defs;
  const blocks = [
    '// Generated from editors/protocol.schema.json by `npm run generate`. Edit python/carrel/frontends/lsp/messages/question_messages.py instead.',
    ...Object.entries(structs).map(([name, struct]) => interfaceOf(name, struct)),
    methods('Requests', 'Every request: its parameters and its result.', schema.requests, endsOf),
    methods('ClientRequests', 'What the server asks: its parameters and its result.', schema.clientRequests, endsOf),
    methods('PartialResults', 'What such a request reports before its result.', schema.partialResults, typeOf),
    methods('Notifications', 'What the server sends by itself.', schema.notifications, typeOf),
    `/** The server's settings, under \`carrel\`. */\nexport const SETTING_KEYS = [\n${Object.keys(settings.properties)
      .map(key => `  '${key}',\n`)
      .join('')}] as const;`,
  ];
  return blocks.join('\n\n') + '\n';
}

function endsOf({ params, result }) {
  return `{ params: ${typeOf(params)}; result: ${typeOf(result)} }`;
}

function interfaceOf(name, struct) {
  const required = new Set(struct.required ?? []);
  const fields = Object.entries(struct.properties).map(
    ([field, spec]) =>
      `${comment(spec.description, '  ')}  readonly ${field}${required.has(field) ? '' : '?'}: ${typeOf(spec)};\n`,
  );
  return `${comment(struct.description, '')}export interface ${name} {\n${fields.join('')}}`;
}

function methods(name, about, table, value) {
  const rows = Object.entries(table).map(([method, ends]) => `  '${method}': ${value(ends)};\n`);
  return `${comment(about, '')}export interface ${name} {\n${rows.join('')}}`;
}

function comment(text, indent) {
  return text ? `${indent}/** ${text.replace(/\s+/g, ' ').replaceAll('*/', '*\\/')} */\n` : '';
}

function typeOf(spec) {
  if (spec.$ref) return spec.$ref.split('/').at(-1);
  // A missing field and null mean the same to the server, so null isn't offered.
  if (spec.anyOf)
    return spec.anyOf
      .filter(one => one.type !== 'null')
      .map(typeOf)
      .join(' | ');
  if (spec.enum) return spec.enum.map(value => `'${value}'`).join(' | ');
  switch (spec.type) {
    case 'string':
    case 'boolean':
      return spec.type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `readonly ${spec.items.anyOf || spec.items.enum ? `(${typeOf(spec.items)})` : typeOf(spec.items)}[]`;
    case 'object': {
      const values = spec.additionalProperties;
      return `Readonly<Record<string, ${values && Object.keys(values).length ? typeOf(values) : 'unknown'}>>`;
    }
    default:
      throw new Error(`a form of schema that the generator doesn't know: ${JSON.stringify(spec)}`);
  }
}
