// What reaches the model is appended to RECORDING_LOG, a JSON line a request: the exact prompt, after everything that Carrel did.
const vscode = require('vscode');
const fs = require('fs');

const FROM_PLACES = process.env.RECORDING_ANSWERS === 'places';
const MODEL = {
  id: 'recording-1',
  name: 'Recording',
  family: 'recording',
  version: '1',
  maxInputTokens: 100000,
  maxOutputTokens: 4096,
  capabilities: { toolCalling: true, imageInput: false },
  isUserSelectable: true,
};
/** As models on a laptop have it. */
const SMALL = { ...MODEL, id: 'recording-small', name: 'Recording Small', family: 'recording-small', maxInputTokens: 8000 };
const textOf = part =>
  typeof part === 'string'
    ? part
    : (part.value ?? (Array.isArray(part.content) ? part.content.map(textOf).join('') : JSON.stringify(part.input ?? '')));

const REVIEW = {
  summary: 'Compare names in one form when a login is checked.',
  difficulty_score: '2',
  recommended_level: 'junior',
  concepts_required: ['Unicode'],
  mentoring_advice: 'Begin at src/auth.py:1-4.',
};

/** What a model does that is asked to review an issue: it searches once, then answers; some titles bring trouble. */
async function review(record, tools, progress, token) {
  const title = /<issue_title>\n(.*)\n/.exec(record.map(({ text }) => text).join('\n'))[1];
  if (title.includes('quota')) throw new Error('no quota left');
  if (title.includes('for ever') && !token.isCancellationRequested)
    await new Promise(cancelled => token.onCancellationRequested(cancelled));
  if (token.isCancellationRequested) return fs.appendFileSync(process.env.RECORDING_LOG, '["cancelled"]\n');
  if (title.includes('babble')) return progress.report(new vscode.LanguageModelTextPart('I can not say.'));
  if (!tools.some(({ name }) => name === 'search_code') || record.length > 2)
    return progress.report(
      new vscode.LanguageModelTextPart('Here it is: ' + JSON.stringify(FROM_PLACES ? reviewFrom(record.at(-1).text) : REVIEW)),
    );
  progress.report(new vscode.LanguageModelTextPart('First the login.'));
  progress.report(
    new vscode.LanguageModelToolCallPart('call-1', 'search_code', {
      query: FROM_PLACES ? title : 'how is a login checked',
      limit: 2,
    }),
  );
}

/** With RECORDING_ANSWERS=places: an answer that names the first places of the context, as a model would. */
function answerFrom(text) {
  const places = [...text.matchAll(/<code_context file="([^"]+)" lines="(\d+-\d+)"(?: symbol="([^"]+)")?/g)].slice(0, 3);
  if (!places.length) return 'Hello! Ask me about this project.';
  const [first, ...others] = places.map(([, path, lines, symbol]) => `${symbol ? `\`${symbol}\` in ` : ''}\`${path}:${lines}\``);
  return `It is done by ${first}.${others.length ? ` See also ${others.join(' and ')}.` : ''}`;
}

/** What it says of a question that it is to say in the words of the code: it repeats all but one. These have a log of their own. */
function inOtherWords(text) {
  const question = /<question>\n([^]*)\n<\/question>$/.exec(text)?.[1];
  return question?.includes('let through the door') ? 'authenticate_user: how a login is checked' : question;
}

/** What it says of an issue after one search: the places that it found. */
function reviewFrom(found) {
  const [, path, lines] = /^--- (\S+) \(lines (\d+-\d+)/m.exec(found) ?? [undefined, 'nowhere', '0'];
  return {
    summary: 'One function decides it, and nothing else has to change.',
    difficulty_score: '2',
    recommended_level: 'junior',
    concepts_required: ['Reading the tests of one package'],
    mentoring_advice: `Begin at ${path}:${lines}.`,
  };
}

/** The incident of docs/knowledge.md: the runbook, the tools, the plan, the answer. */
const HOST = 'pay-prod-03';
const PLAN = {
  steps: [
    { tool: 'load_balancer', args: { hostname: HOST, enabled: false } },
    { tool: 'restart_server', args: { hostname: HOST } },
    { tool: 'load_balancer', args: { hostname: HOST, enabled: true } },
  ],
  risk_level: 'safe',
};
const INCIDENT = [
  ['search_knowledge_base', { query: 'restart the Phoenix server according to protocol' }],
  ['search_tools', { query: 'take a host off the load balancer and restart the server' }],
  ['execute_pipeline', { pipeline: JSON.stringify(PLAN), input_data: '' }],
];

function incident(messages, progress) {
  const results = messages
    .flatMap(({ content }) => [...content])
    .filter(part => part instanceof vscode.LanguageModelToolResultPart);
  const [tool, input] = INCIDENT[results.length] ?? [];
  if (tool) return progress.report(new vscode.LanguageModelToolCallPart(`call-${results.length}`, tool, input));
  const said = textOf(results.at(-1));
  const answer = said.includes('is on the load balancer')
    ? 'Phoenix was restarted off the load balancer (@runbooks/phoenix.md:12-14).'
    : 'Nothing was done: the pipeline was not allowed.';
  progress.report(new vscode.LanguageModelTextPart(answer));
}

exports.activate = context => {
  context.subscriptions.push(
    vscode.lm.registerLanguageModelChatProvider('recording', {
      provideLanguageModelChatInformation: async () => [MODEL, SMALL],
      provideLanguageModelChatResponse: async (_model, messages, options, progress, token) => {
        const record = messages.map(({ role, content }) => ({ role, text: [...content].map(textOf).join('') }));
        const said = inOtherWords(record.at(-1).text);
        if (said !== undefined) {
          fs.appendFileSync(`${process.env.RECORDING_LOG}.said`, JSON.stringify(record) + '\n');
          return progress.report(new vscode.LanguageModelTextPart(said));
        }
        fs.appendFileSync(process.env.RECORDING_LOG, JSON.stringify(record) + '\n');
        if ((options.tools ?? []).some(({ name }) => name === 'execute_pipeline')) return incident(messages, progress);
        if (record.some(({ text }) => text.includes('<issue_title>')))
          return review(record, options.tools ?? [], progress, token);
        if (record.at(-1).text.endsWith('say nothing')) return;
        const answer = FROM_PLACES
          ? answerFrom(record.at(-1).text)
          : 'Logins are checked in `src/auth.py:1-4`, by authenticate_user.';
        progress.report(new vscode.LanguageModelTextPart(answer));
      },
      provideTokenCount: async (_model, text) => Math.ceil((typeof text === 'string' ? text : JSON.stringify(text)).length / 4),
    }),
    vscode.chat.createChatParticipant('carrel-test.plain', async (request, _context, stream, token) => {
      const answer = await request.model.sendRequest([vscode.LanguageModelChatMessage.User(request.prompt)], {}, token);
      for await (const text of answer.text) stream.markdown(text);
    }),
  );
  context.subscriptions.push(
    vscode.chat.createChatParticipant('carrel-test.attached', async request => {
      const attached = [];
      for (const { value } of request.references) {
        const document = await vscode.workspace.openTextDocument(value.uri ?? value);
        attached.push({
          path: document.uri.path,
          lines: value.range && [value.range.start.line + 1, value.range.end.line + 1],
          text: document.getText(value.range),
        });
      }
      fs.appendFileSync(process.env.RECORDING_LOG, JSON.stringify([{ role: 1, text: JSON.stringify(attached) }]) + '\n');
    }),
  );
  // Without this the model isn't listed.
  setTimeout(() => void vscode.lm.selectChatModels({ vendor: 'recording' }), 500);
};
