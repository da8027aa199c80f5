// What reaches the model is appended to RECORDING_LOG, a JSON line a request: the exact prompt, after everything that Carrel did.
const vscode = require('vscode');
const fs = require('fs');

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
const textOf = part => (typeof part === 'string' ? part : (part.value ?? ''));

exports.activate = context => {
  context.subscriptions.push(
    vscode.lm.registerLanguageModelChatProvider('recording', {
      provideLanguageModelChatInformation: async () => [MODEL],
      provideLanguageModelChatResponse: async (_model, messages, _options, progress) => {
        const record = messages.map(({ role, content }) => ({ role, text: [...content].map(textOf).join('') }));
        fs.appendFileSync(process.env.RECORDING_LOG, JSON.stringify(record) + '\n');
        progress.report(new vscode.LanguageModelTextPart('Logins are checked in `src/auth.py:1-4`, by authenticate_user.'));
      },
      provideTokenCount: async (_model, text) => Math.ceil((typeof text === 'string' ? text : JSON.stringify(text)).length / 4),
    }),
    vscode.chat.createChatParticipant('carrel-test.plain', async (request, _context, stream, token) => {
      const answer = await request.model.sendRequest([vscode.LanguageModelChatMessage.User(request.prompt)], {}, token);
      for await (const text of answer.text) stream.markdown(text);
    }),
  );
  // Without this the model isn't listed.
  setTimeout(() => void vscode.lm.selectChatModels({ vendor: 'recording' }), 500);
};
