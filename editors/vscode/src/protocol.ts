// Generated from editors/protocol.schema.json by `npm run generate`. Edit python/carrel/frontends/lsp/messages/question_messages.py instead.

/** The editor that the person is looking at. */
export interface ActiveEditor {
  /** The file's URI. */
  readonly uri: string;
  /** What is selected in it: given as `attached` is, and what "this function" means in a question. */
  readonly selection?: Range;
}

/** A search, and what a chat model said of it. */
export interface AttemptResult {
  readonly query: string;
  /** How many were found. */
  readonly hits: number;
  readonly isRelevant: boolean;
  readonly isSufficient: boolean;
  /** What comes next: "refine_query" searches for `refinedQuery`, "search_more" for twice as many hits. */
  readonly action: 'answer' | 'refine_query' | 'search_more';
  readonly refinedQuery?: string;
  /** Why the hits weren't assessed. */
  readonly problem?: string;
}

/** One entry of the log. */
export interface AuditEntry {
  readonly number: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly kind: string;
  readonly user: string;
  /** Places, scores, hashes and sizes; docs/audit.md has the fields. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** `carrel/audit`: what was given to whom, the newest first. */
export interface AuditParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  readonly limit?: number;
  /** A span such as `12h` or `7d`, or a date. */
  readonly since?: string;
  /** Only `context`, `search`, `tool`, `answer`, `sent` or `permission`, for example. */
  readonly kind?: string;
}

/** The newest entries of the log, which all of the person's programs share. */
export interface AuditResult {
  readonly entries: readonly AuditEntry[];
  /** Whether anything is recorded at the moment. */
  readonly enabled: boolean;
  /** Why nothing can be written at the moment. */
  readonly problem?: string;
}

/** `carrel/augment`: as `carrel/context`, with the text to put the context in front of. */
export interface AugmentParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** URIs or paths of the workspace folders to ask, in place of `workspaceFolder`; all open ones by default. Of several, hits stand in one order, their paths begin with the folder's name, and one budget holds for all. */
  readonly folders?: readonly string[];
  /** What to look for; the text without a leading command by default. */
  readonly query?: string;
  /** Earlier turns, oldest first. They count where the query speaks of something that it doesn't name. Where it has a subject of its own, the topic has changed and they don't. A planner reads them too. */
  readonly history?: readonly HistoryTurn[];
  /** Whether a chat model helps to search; the setting `planner` by default. */
  readonly plan?: 'always' | 'auto' | 'never';
  /** Whether a reranker that is configured judges the candidates; the setting `rerank` by default. */
  readonly rerank?: boolean;
  /** Ids of sources to search, as `carrel/sources` has them, `workspace` among them. Without it the question decides. */
  readonly sources?: readonly string[];
  /** How many hits at most; `ragTopK` by default. */
  readonly topK?: number;
  /** How long the text may get; by `window` and the setting `budget` by default. */
  readonly budget?: BudgetParam;
  /** How many tokens the chat model takes; by the name in `model`, where that is known, by default. */
  readonly window?: number;
  /** The chat model, which decides how tokens are counted. */
  readonly model?: string;
  /** Under it the client lends its chat model by `carrel/complete`, to help an unsure search. */
  readonly modelToken?: number | string;
  /** The editor in front. */
  readonly active?: ActiveEditor;
  /** Files that are open. */
  readonly openUris?: readonly string[];
  /** URIs of files that the person attached. */
  readonly pinned?: readonly string[];
  /** Lines that the person selected or attached: always given, once, before what is found. */
  readonly attached?: readonly LinesParam[];
  /** Globs of paths to leave out, pinned ones too. */
  readonly exclude?: readonly string[];
  /** Places to leave out: no chunk that holds one of these lines is given. */
  readonly excludeLines?: readonly LinesParam[];
  /** Which chunks may answer. */
  readonly filters?: FiltersParam;
  /** "chat" answers at once, and is empty while `ragEnabled` is off; "explicit" may await a first index. */
  readonly trigger?: 'chat' | 'explicit';
  /** How long an explicit request waits for a first index. */
  readonly waitMs?: number;
  /** Answer within this time, with an empty pack if need be. */
  readonly deadlineMs?: number;
  /** The form of the text; "places" is a line for each hit: path, lines and symbol, without code. */
  readonly format?: 'places' | 'source' | 'tool' | 'xml';
  /** The user's text as it stands. */
  readonly text: string;
}

/** The user's text with the context in front, or as it was. */
export interface AugmentResult {
  readonly text: string;
  readonly original: string;
  readonly pack: ContextResult;
}

/** A rule that moved a hit. */
export interface Boost {
  readonly rule: string;
  readonly factor: number;
}

/** How long a context may get, tags and separators included: give one of the two. */
export interface BudgetParam {
  /** At most so many tokens of the model's tokenizer. */
  readonly tokens?: number;
  /** At most so many characters. */
  readonly chars?: number;
}

/** A place that the answer cites. */
export interface ChatCitation {
  readonly uri: string;
  /** Relative to the folder. */
  readonly path: string;
  /** 1-based, inclusive. */
  readonly startLine: number;
  /** 1-based, inclusive. */
  readonly endLine: number;
  /** The model was given these lines, and what the answer quotes beside them stands there. */
  readonly ok: boolean;
  /** Why it doesn't hold. */
  readonly reason?: string;
  /** Of a document, where it names one. */
  readonly version?: string;
  /** Of a document: ISO 8601, UTC. */
  readonly updatedAt?: string;
}

/** One message of a conversation with a person. */
export interface ChatMessage {
  readonly role: 'assistant' | 'user';
  readonly content: string;
}

/** `carrel/chat`: a chat model's answer to a question about the code, from context and tools, with checked citations. */
export interface ChatParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** URIs or paths of the workspace folders to ask, in place of `workspaceFolder`; all open ones by default. Of several, hits stand in one order, their paths begin with the folder's name, and one budget holds for all. */
  readonly folders?: readonly string[];
  /** What to search for first; the question without a leading command by default. */
  readonly query?: string;
  /** Earlier turns, oldest first. They count where the query speaks of something that it doesn't name. Where it has a subject of its own, the topic has changed and they don't. A planner reads them too. */
  readonly history?: readonly HistoryTurn[];
  /** Whether a chat model helps to search; the setting `planner` by default. */
  readonly plan?: 'always' | 'auto' | 'never';
  /** Whether a reranker that is configured judges the candidates; the setting `rerank` by default. */
  readonly rerank?: boolean;
  /** Ids of sources to search, as `carrel/sources` has them, `workspace` among them. Without it the question decides. */
  readonly sources?: readonly string[];
  /** How many hits at most; `ragTopK` by default. */
  readonly topK?: number;
  /** How long the text may get; by `window` and the setting `budget` by default. */
  readonly budget?: BudgetParam;
  /** How many tokens the chat model takes; by the name in `model`, where that is known, by default. */
  readonly window?: number;
  /** Where the client lends its own model: what decides how tokens are counted. Else which model of the provider that is set; the one that is set by default. */
  readonly model?: string;
  /** Comes back in every `carrel/complete`, to tell which model is asked. */
  readonly modelToken?: number | string;
  /** The editor in front. */
  readonly active?: ActiveEditor;
  /** Files that are open. */
  readonly openUris?: readonly string[];
  /** URIs of files that the person attached. */
  readonly pinned?: readonly string[];
  /** Lines that the person selected or attached: always given, once, before what is found. */
  readonly attached?: readonly LinesParam[];
  /** Globs of paths to leave out, of the context and of what tools show. */
  readonly exclude?: readonly string[];
  /** Places to leave out: no chunk that holds one of these lines is given. */
  readonly excludeLines?: readonly LinesParam[];
  /** Which chunks may answer. */
  readonly filters?: FiltersParam;
  /** "explicit" may await a first index; tools make one anyway. */
  readonly trigger?: 'chat' | 'explicit';
  /** How long an explicit request waits for a first index. */
  readonly waitMs?: number;
  /** Answer within this time, with an empty pack if need be. */
  readonly deadlineMs?: number;
  /** The form of the text; "places" is a line for each hit: path, lines and symbol, without code. */
  readonly format?: 'places' | 'source' | 'tool' | 'xml';
  /** The conversation, oldest first; it ends with the question. What doesn't fit is left out. */
  readonly messages: readonly ChatMessage[];
  /** How many tokens the model takes, at least 4,000; no request has more than 32,000 anyway. */
  readonly maxTokens?: number;
  /** Have the chat model say after each search whether the hits are enough; it may search for other words or for more, within 3 attempts. */
  readonly assess?: boolean;
  /** Where each `ChatStep` is reported, by `$/progress`. */
  readonly partialResultToken?: number | string;
}

/** Lines of a file that a tool showed the model. */
export interface ChatPlace {
  readonly uri: string;
  /** Relative to the folder. */
  readonly path: string;
  /** 1-based, inclusive. */
  readonly startLine: number;
  /** 1-based, inclusive. */
  readonly endLine: number;
}

/** An answer. */
export interface ChatResult {
  /** The answer; behind a citation that doesn't hold stands `[unverified]`. */
  readonly text: string;
  /** What it cites, each place once. */
  readonly citations: readonly ChatCitation[];
  readonly usage: ChatUsage;
  /** What was put before the question. */
  readonly pack: ContextResult;
  /** What happened, without the pieces of text. */
  readonly steps: readonly ChatStep[];
  /** What is wrong with the answer, in words. */
  readonly problem?: string;
  /** Whether the answer was cut off. */
  readonly cut?: boolean;
  /** What ended the search for more. */
  readonly limit?: 'answer' | 'calls' | 'cost' | 'steps' | 'time' | 'tokens';
  readonly elapsedMs: number;
  /** What went to which service for this, this machine's included; unset where nothing did. A client's own model isn't in it. */
  readonly sent?: readonly SentResult[];
}

/** What happens while a question is answered, as it happens. */
export interface ChatStep {
  /** "assessed": the model said whether the context is enough. "asked": it is asked to answer. "text": a piece of what it says; what came before a tool or "askedAgain" is no part of the answer. "toolRefused": a call that can't be run. "repaired": what was mended of what was said. "limit": it is asked to answer with what it has, or its answer was cut. "askedAgain": the answer can't be used, and the model is told why. */
  readonly kind: 'asked' | 'askedAgain' | 'assessed' | 'limit' | 'repaired' | 'text' | 'toolFinished' | 'toolRefused' | 'toolStarted';
  /** What the model says, what was mended, or the beginning of what a tool said. */
  readonly text?: string;
  /** The tool's name. */
  readonly tool?: string;
  /** Of a call, as the tool gets them. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** What of the workspace a tool showed. */
  readonly places?: readonly ChatPlace[];
  /** Why a call, or an answer, can't be used. */
  readonly problem?: string;
  /** Whether a call was answered from the same one before. */
  readonly repeated?: boolean;
  /** What there was enough of. */
  readonly limit?: 'answer' | 'calls' | 'cost' | 'steps' | 'time' | 'tokens';
  /** Which request to the model it is, from 1. */
  readonly step?: number;
  /** Of a request to the model. */
  readonly tokens?: number;
  /** How long a tool took. */
  readonly elapsedMs?: number;
  /** The search that was assessed. */
  readonly attempt?: AttemptResult;
}

/** What an answer took. */
export interface ChatUsage {
  /** To the model. */
  readonly requests: number;
  /** Of tools. */
  readonly calls: number;
  /** Of all requests together, counted by `tokenizer`. */
  readonly promptTokens: number;
  readonly answerTokens: number;
  readonly largestRequest: number;
  /** US dollars, where the model's prices are set. */
  readonly cost?: number;
  readonly tokenizer: string;
}

/** `carrel/citations`: whether the places hold that an answer cites, which the client's own model gave to a pack. */
export interface CitationsParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** The `id` of a recent pack: what the model was given. */
  readonly packId: string;
  /** The answer. */
  readonly text: string;
  /** Count places, too, that the index can read now: for a model that opens files by itself. */
  readonly alsoReadable?: boolean;
}

/** The places that an answer cites, each once. */
export interface CitationsResult {
  readonly citations: readonly ChatCitation[];
}

/** `carrel/clear`: delete the index of the folder. */
export interface ClearParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
}

/** How much was deleted. */
export interface ClearResult {
  readonly freedBytes: number;
}

/** Both answers. */
export interface CompareAnswers {
  readonly chunks: WayAnswer;
  readonly wholeFiles: WayAnswer;
}

/** `carrel/compare`: what whole files and retrieved chunks cost for one question. */
export interface CompareParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** The question. */
  readonly query: string;
  /** How many hits at most. */
  readonly limit?: number;
  /** Of the chunks; the setting when unset. */
  readonly budget?: BudgetParam;
  /** The chat model, for its tokenizer; with `answers` as in `carrel/chat`. */
  readonly model?: string;
  /** How long to wait for a first index. */
  readonly waitMs?: number;
  /** Have a chat model judge each way, and answer. */
  readonly answers?: boolean;
  /** Comes back in every `carrel/complete`, to tell which model is asked. */
  readonly modelToken?: number | string;
}

/** The same question answered with chunks and with the whole files that they are from. */
export interface CompareResult {
  readonly chunks: WayResult;
  readonly wholeFiles: WayResult;
  /** The same files in chunks of 20, 50 and 100 lines. */
  readonly byLines?: readonly WayResult[];
  /** Files that could not be read whole. */
  readonly unread?: readonly string[];
  /** Why retrieval pays here. */
  readonly reasons?: readonly string[];
  /** Why the index may have found too little. */
  readonly problem?: string;
  /** Where they were asked for. */
  readonly answers?: CompareAnswers;
  readonly tokenizer: string;
  readonly elapsedMs: number;
  /** What went to which service for this, this machine's included; unset where nothing did. A client's own model isn't in it. */
  readonly sent?: readonly SentResult[];
}

/** `carrel/complete`: have the client's chat model go on with this conversation. */
export interface CompleteParams {
  /** As in the request that this serves. */
  readonly modelToken?: number | string;
  readonly messages: readonly ModelMessage[];
  /** What the model may call; the server runs the calls. */
  readonly tools: readonly ToolSpec[];
}

/** What the model said. */
export interface CompleteResult {
  readonly text?: string;
  /** Tools that it wants run. */
  readonly toolCalls?: readonly ToolCall[];
}

/** `carrel/confirm`: have the person decide. The client shows all of it and never answers by itself. */
export interface ConfirmParams {
  /** `provider` (text goes to a remote model), `paidIndex`, `tools` (new, changed), a dangerous `pipeline` or a `source` (added, changed, removed). */
  readonly what: string;
  /** What happens if they agree, in a sentence. */
  readonly risk: string;
  /** All that is decided, by name. */
  readonly details: Readonly<Record<string, string>>;
  /** Names exactly this decision. */
  readonly hash: string;
}

/** What the person said. */
export interface ConfirmResult {
  readonly allowed?: boolean;
}

/** `carrel/context`: the pages for one chat turn, packed within a budget. Never fails a chat. */
export interface ContextParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** URIs or paths of the workspace folders to ask, in place of `workspaceFolder`; all open ones by default. Of several, hits stand in one order, their paths begin with the folder's name, and one budget holds for all. */
  readonly folders?: readonly string[];
  /** The user's words. */
  readonly query: string;
  /** Earlier turns, oldest first. They count where the query speaks of something that it doesn't name. Where it has a subject of its own, the topic has changed and they don't. A planner reads them too. */
  readonly history?: readonly HistoryTurn[];
  /** Whether a chat model helps to search; the setting `planner` by default. */
  readonly plan?: 'always' | 'auto' | 'never';
  /** Whether a reranker that is configured judges the candidates; the setting `rerank` by default. */
  readonly rerank?: boolean;
  /** Ids of sources to search, as `carrel/sources` has them, `workspace` among them. Without it the question decides. */
  readonly sources?: readonly string[];
  /** How many hits at most; `ragTopK` by default. */
  readonly topK?: number;
  /** How long the text may get; by `window` and the setting `budget` by default. */
  readonly budget?: BudgetParam;
  /** How many tokens the chat model takes; by the name in `model`, where that is known, by default. */
  readonly window?: number;
  /** The chat model, which decides how tokens are counted. */
  readonly model?: string;
  /** Under it the client lends its chat model by `carrel/complete`, to help an unsure search. */
  readonly modelToken?: number | string;
  /** The editor in front. */
  readonly active?: ActiveEditor;
  /** Files that are open. */
  readonly openUris?: readonly string[];
  /** URIs of files that the person attached. */
  readonly pinned?: readonly string[];
  /** Lines that the person selected or attached: always given, once, before what is found. */
  readonly attached?: readonly LinesParam[];
  /** Globs of paths to leave out, pinned ones too. */
  readonly exclude?: readonly string[];
  /** Places to leave out: no chunk that holds one of these lines is given. */
  readonly excludeLines?: readonly LinesParam[];
  /** Which chunks may answer. */
  readonly filters?: FiltersParam;
  /** "chat" answers at once, and is empty while `ragEnabled` is off; "explicit" may await a first index. */
  readonly trigger?: 'chat' | 'explicit';
  /** How long an explicit request waits for a first index. */
  readonly waitMs?: number;
  /** Answer within this time, with an empty pack if need be. */
  readonly deadlineMs?: number;
  /** The form of the text; "places" is a line for each hit: path, lines and symbol, without code. */
  readonly format?: 'places' | 'source' | 'tool' | 'xml';
}

/** A `ContextPack`: the text for the chat and where each part of it is from. */
export interface ContextResult {
  readonly id: string;
  readonly text: string;
  readonly format: 'places' | 'source' | 'tool' | 'xml';
  readonly tokens: number;
  /** Unset when the budget is in characters. */
  readonly budgetTokens?: number;
  /** Unset when the budget is in tokens. */
  readonly budgetChars?: number;
  readonly tokenizer: string;
  readonly hits: readonly HitResult[];
  readonly dropped: readonly DroppedResult[];
  readonly query: string;
  /** What was searched for beside the question: what a chat model made of it, or itself with its subject's name or with mistyped names put right. */
  readonly rewritten?: string;
  /** What a planner divided the question into, where these were searched for. */
  readonly subQueries?: readonly string[];
  /** Where the question went, where there are sources beside the workspace. */
  readonly routes?: readonly RouteResult[];
  /** Ids of the sources that weren't searched, since nothing in the question spoke for them. */
  readonly notSearched?: readonly string[];
  /** How sure it is that there is anything relevant at all, from 0 to 1; calibrated (docs/quality.md). Under 0.12 a context that nobody asked for holds pinned files alone; under 0.3 an answer says that it isn't sure. Unset where nothing was searched. */
  readonly confidence?: number;
  readonly state: 'empty' | 'error' | 'indexing' | 'ready';
  readonly pending: number;
  readonly error?: string;
  readonly elapsedMs: number;
  /** Milliseconds by stage. */
  readonly stages: Readonly<Record<string, number>>;
  /** Folders that were not searched, and why; the others answer. */
  readonly missingFolders?: readonly MissingFolderResult[];
  /** What went to which service for this, this machine's included; unset where nothing did. A client's own model isn't in it. */
  readonly sent?: readonly SentResult[];
}

/** What a rule added to a hit's score, or took from it. */
export interface Contribution {
  readonly rule: string;
  readonly share: number;
}

/** A hit or file that was left out, and why. */
export interface DroppedResult {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly reason: string;
}

/** The `data` of an error that Carrel answers a request with; `message` says the same in a sentence. */
export interface ErrorData {
  /** `InvalidInput`, `NotReady`, `SettingsError`, `StoreError`, `NewerFormat`, `NotWriter`, `ProviderError`, or `CarrelError` for anything else that can't be done. */
  readonly kind: string;
  /** What happened, and why. */
  readonly reason: string;
  /** The command, setting or act that mends it; empty where none is known. */
  readonly remedy?: string;
  /** Whether the same request may succeed later, though nobody mends anything. */
  readonly retryable?: boolean;
  /** The parameter that can't be used, for `InvalidInput`. */
  readonly field?: string;
  /** Which of its values the reason speaks of, where it has several. */
  readonly value?: string;
}

/** `carrel/explain`: why a pack holds what it holds, or why one line was or wasn't found. */
export interface ExplainParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** A recent pack's `id`; or give `query`, `path` and `line`. */
  readonly packId?: string;
  /** What was searched for. */
  readonly query?: string;
  /** Path relative to the folder, or a URI. */
  readonly path?: string;
  /** A 1-based line of it. */
  readonly line?: number;
}

/** A file that could not be read, cut or embedded as a whole, and why. The next run tries it again unless it was refused. */
export interface FailedFile {
  readonly path: string;
  readonly reason: string;
}

/** A file and the sum of its chunks' scores. */
export interface FileResult {
  readonly uri: string;
  readonly path: string;
  readonly score: number;
}

/** `carrel/files`: the files that answer a query best, by the summed scores of their chunks. */
export interface FilesParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** Words, a question, or an identifier. */
  readonly query: string;
  /** How many files at most. */
  readonly limit?: number;
  /** How many chunks are looked at. */
  readonly poolSize?: number;
  /** Which chunks may answer. */
  readonly filters?: FiltersParam;
  /** How long to wait for a first index. */
  readonly waitMs?: number;
}

/** Files, best first. */
export interface FilesResult {
  readonly files: readonly FileResult[];
  readonly elapsedMs: number;
}

/** Which chunks may answer. Everything given must hold. */
export interface FiltersParam {
  /** Only these sources. */
  readonly sources?: readonly ('code' | 'docs')[];
  /** Only paths that match one of these globs. */
  readonly pathGlob?: string | readonly string[];
  /** Only these languages, by the names in `carrel/status`. */
  readonly languages?: readonly string[];
  /** Only chunks that are or define this: `Class.method`, or a name alone; in any case. */
  readonly symbol?: string;
  /** Leave out hits below this score. */
  readonly minScore?: number;
  /** Only files whose content changed since, by their time stamps. */
  readonly maxAgeDays?: number;
  /** What must be recorded of a chunk, exactly: `container`, `kind`, `language`, `path`, `source`, `symbol`; one value, or several of which one must be equal. */
  readonly metadata?: Readonly<Record<string, string | readonly string[]>>;
}

/** One earlier turn of the chat. */
export interface HistoryTurn {
  readonly role: string;
  readonly content: string;
}

/** A chunk that answers a query, as it stands in the buffer or on disk at this moment. */
export interface HitResult {
  readonly id: string;
  readonly uri: string;
  /** Relative to the folder. In an answer of several folders it begins with the folder's name. */
  readonly path: string;
  /** URI of its folder, in an answer of several. */
  readonly folder?: string;
  /** 1-based, inclusive. */
  readonly startLine: number;
  /** 1-based, inclusive. */
  readonly endLine: number;
  readonly range: Range;
  readonly symbol?: string;
  readonly kind: string;
  readonly language: string;
  /** 0 to 1, comparable across queries. */
  readonly score: number;
  readonly signals: SignalsResult;
  readonly text: string;
  readonly definitions: readonly string[];
  readonly imports: readonly string[];
  readonly container?: string;
  readonly contentHash: string;
  /** ISO 8601, UTC. */
  readonly updatedAt: string;
  readonly source: 'code' | 'docs';
  /** Which source it is from, where that isn't the workspace; `path` is `@ID/…` then, of a published repository `REPO@COMMIT PATH`. */
  readonly sourceId?: string;
  /** It lies in a repository that isn't on this machine: `text` was published, and `uri` can't be opened. */
  readonly notLocal?: boolean;
  /** What must be known of the document: its version and date, that it is outdated. */
  readonly note?: string;
  /** Of the document, where it names one. */
  readonly version?: string;
  /** How many secrets in its text were masked: each stands as `[secret: KIND]`. */
  readonly masked: number;
  /** Where it was asked for and is known. */
  readonly lastChange?: LastChangeResult;
  /** The person selected or attached these lines: they were not found. */
  readonly attached?: boolean;
}

/** `carrel/index`: bring the index up to date, with `$/progress` in numbers of files. */
export interface IndexParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** Read and embed everything again. */
  readonly force?: boolean;
  /** Where progress is reported. */
  readonly workDoneToken?: number | string;
}

/** What one index run did, in files. */
export interface IndexResult {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly unchanged: number;
  readonly skipped: number;
  readonly failed: number;
  /** Files that hold a text which the embedding model refused; they didn't fail. */
  readonly refused?: number;
  /** Chunks that were embedded. */
  readonly chunks: number;
  /** Pieces of the added and changed files that were left out: too small, with no neighbour to join. */
  readonly trivial: number;
  readonly elapsedMs: number;
}

/** `carrel/key`: hand over a key from the editor's secret storage, for as long as the server runs. */
export interface KeyParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  readonly provider: string;
  /** The key; missing to forget it. */
  readonly key?: string;
}

/** Whether there is a key of the editor's now. */
export interface KeyResult {
  readonly kept: boolean;
}

/** The newest commit that changed lines of a hit. */
export interface LastChangeResult {
  readonly sha: string;
  readonly author: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly subject: string;
}

/** Lines of one file. */
export interface LinesParam {
  readonly uri: string;
  /** 1-based. */
  readonly startLine: number;
  /** 1-based, inclusive. */
  readonly endLine: number;
}

/** A workspace folder that was not searched. */
export interface MissingFolderResult {
  /** Its URI. */
  readonly folder: string;
  readonly name: string;
  readonly reason: string;
}

/** The embedding model. */
export interface ModelInfo {
  readonly id: string;
  readonly dims: number;
}

/** One message of a conversation with a model. */
export interface ModelMessage {
  readonly role: 'assistant' | 'system' | 'tool' | 'user';
  readonly text: string;
  /** Of an assistant's message. */
  readonly toolCalls?: readonly ToolCall[];
  /** Of a tool's message: the call that it answers. */
  readonly toolCallId?: string;
}

/** What is known before a run. `challenge` names plan, input and tools: the `hash` that `carrel/confirm` would have. */
export interface PipelineChecked {
  readonly ok: boolean;
  readonly risk: 'dangerous' | 'moderate' | 'safe';
  readonly problems: readonly PipelineProblem[];
  readonly needsConfirmation: boolean;
  readonly challenge?: string;
}

/** `carrel/pipeline/validate`: check a pipeline whole. Nothing is run, started or asked. */
export interface PipelineParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** The pipeline, or its JSON. */
  readonly pipeline: Readonly<Record<string, unknown>> | string;
  readonly inputData?: string;
}

/** What is wrong with a pipeline; without `step`, with the whole. */
export interface PipelineProblem {
  readonly step?: number;
  readonly message: string;
}

/** `carrel/pipeline/run`: run it, after `carrel/confirm` where it is dangerous or a tool is new or changed. */
export interface PipelineRunParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** The pipeline, or its JSON. */
  readonly pipeline: Readonly<Record<string, unknown>> | string;
  readonly inputData?: string;
  /** Each step is reported under it when it ends. */
  readonly partialResultToken?: number | string;
}

/** What a run gave. `ok` is false where it wasn't begun or a step failed; `error` says why; outputs until then are kept. */
export interface PipelineRunResult {
  readonly ok: boolean;
  readonly risk: 'dangerous' | 'moderate' | 'safe';
  readonly problems: readonly PipelineProblem[];
  readonly needsConfirmation: boolean;
  readonly challenge?: string;
  readonly output?: string;
  readonly steps?: readonly PipelineStep[];
  readonly error?: string;
}

/** A step that ended; also the partial result. */
export interface PipelineStep {
  readonly step: number;
  readonly tool: string;
  readonly ms: number;
  readonly bytes: number;
  readonly output: string;
  readonly error?: string;
}

/** LSP's position: 0-based, characters in the negotiated encoding. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

/** Where text may be sent. */
export interface ProviderDestination {
  readonly provider: string;
  readonly host: string;
  /** Whether it is this machine. */
  readonly local: boolean;
  /** Whether a person allowed it; this machine needs no permission. */
  readonly allowed: boolean;
}

/** A model that is set. */
export interface ProviderModel {
  /** `embedder`, `reranker`, `chat` or `planner`. */
  readonly role: string;
  readonly provider: string;
  readonly model: string;
  /** None for a model inside the server. */
  readonly destinations: readonly ProviderDestination[];
  /** Whether a key was found. The key itself is never told. */
  readonly hasKey: boolean;
  /** Ever sent to these destinations. */
  readonly requests: number;
  readonly tokens: number;
  /** What they cost, by the prices in the settings. */
  readonly dollars: number;
  /** Of the last request, if it failed. */
  readonly lastError?: string;
  /** With `check`: how long it took to answer. */
  readonly answeredMs?: number;
  /** Why it can't be used. */
  readonly problem?: string;
}

/** The store of vectors that is set. */
export interface ProviderStore {
  /** `segments`, `lancedb` or `qdrant`. */
  readonly kind: string;
  /** A folder, a URL, or the managed server; empty for the index itself. */
  readonly place: string;
  /** None for a store inside the server. */
  readonly destinations: readonly ProviderDestination[];
  readonly hasKey: boolean;
  /** Why it can't be used. */
  readonly problem?: string;
}

/** `carrel/providers`: which models are set, and where their text goes. */
export interface ProvidersParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** Ask each model for as little as it can answer, and the person for a permission that is missing. It may cost a fraction of a cent. */
  readonly check?: boolean;
}

/** The models and the store that are set, and which providers there are for each role. */
export interface ProvidersResult {
  readonly models: readonly ProviderModel[];
  readonly store: ProviderStore;
  /** By role, the providers that can be set. */
  readonly known: Readonly<Record<string, readonly string[]>>;
  /** What a key can be kept for: providers, the store, the team, tools' servers. */
  readonly keys: readonly string[];
}

/** LSP's range: the end is exclusive. */
export interface Range {
  readonly start: Position;
  readonly end: Position;
}

/** The model's answer, checked. */
export interface ReviewAnswer {
  /** One sentence. */
  readonly summary: string;
  readonly difficultyScore: number;
  readonly recommendedLevel: 'Junior' | 'Mid' | 'Senior' | 'Senior+';
  readonly conceptsRequired: readonly string[];
  readonly mentoringAdvice: string;
  /** Distinct chunks that the model was given, counted by the server. */
  readonly chunksUsed: number;
}

/** `carrel/review`: what an issue takes, by a chat model of the client's that searches the code step by step. */
export interface ReviewParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** The issue in a line. */
  readonly title: string;
  /** The rest of it. */
  readonly body?: string;
  /** Globs of paths that no search finds. */
  readonly exclude?: readonly string[];
  /** The chat model, which decides how tokens are counted. */
  readonly model?: string;
  /** Comes back in every `carrel/complete`, to tell which model is asked. */
  readonly modelToken?: number | string;
  /** How many tokens the model takes, at least 4,000; no request has more than 32,000 anyway. */
  readonly maxTokens?: number;
  /** How long to wait for a first index. */
  readonly waitMs?: number;
  /** Where each `ReviewStep` is reported, by `$/progress`. */
  readonly partialResultToken?: number | string;
}

/** A chunk that the model was given. */
export interface ReviewPlace {
  readonly uri: string;
  /** Relative to the folder. */
  readonly path: string;
  /** 1-based, inclusive. */
  readonly startLine: number;
  /** 1-based, inclusive. */
  readonly endLine: number;
  readonly symbol?: string;
  /** 0 to 1, comparable across queries. */
  readonly score: number;
}

/** A review, or what the model said instead of one. */
export interface ReviewResult {
  /** Unset when the answer can't be used. */
  readonly review?: ReviewAnswer;
  /** Why it can't be used, in words. */
  readonly problem?: string;
  /** What the model said then. */
  readonly rawText?: string;
  /** The chunks that the model was given, each once. */
  readonly places: readonly ReviewPlace[];
  /** How many it asked for. */
  readonly searches: number;
  /** Tokens of the longest request to the model. */
  readonly largestRequest: number;
  readonly tokenizer: string;
  readonly state: 'empty' | 'error' | 'indexing' | 'ready';
  /** Files that wait for indexing. */
  readonly pending: number;
  readonly elapsedMs: number;
  /** What went to which service for this, this machine's included; unset where nothing did. A client's own model isn't in it. */
  readonly sent?: readonly SentResult[];
}

/** What happens in a review, as it happens. */
export interface ReviewStep {
  /** "askedAgain": the answer can't be used, and the model is told why. */
  readonly kind: 'askedAgain' | 'searchFinished' | 'searchStarted' | 'text';
  /** Of a search. */
  readonly query?: string;
  /** What a search found and the model gets next. */
  readonly places?: readonly ReviewPlace[];
  /** What the model says. */
  readonly text?: string;
  /** Whether the text is meant as the answer, unchecked. */
  readonly answer?: boolean;
  /** Why the model is asked again. */
  readonly problem?: string;
}

/** Where a question went. */
export interface RouteResult {
  readonly source: string;
  /** What was searched for there. */
  readonly query: string;
  readonly reason: string;
}

/** `carrel/search`: the chunks that answer a query, best first. */
export interface SearchParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** URIs or paths of the workspace folders to ask, in place of `workspaceFolder`; all open ones by default. Of several, hits stand in one order, their paths begin with the folder's name, and one budget holds for all. */
  readonly folders?: readonly string[];
  /** Words, a question, or an identifier. */
  readonly query: string;
  /** Earlier turns, oldest first. They count where the query speaks of something that it doesn't name. Where it has a subject of its own, the topic has changed and they don't. A planner reads them too. */
  readonly history?: readonly HistoryTurn[];
  /** The editor in front. */
  readonly active?: ActiveEditor;
  /** Whether a chat model helps to search; the setting `planner` by default. */
  readonly plan?: 'always' | 'auto' | 'never';
  /** Whether a reranker that is configured judges the candidates; the setting `rerank` by default. */
  readonly rerank?: boolean;
  /** Ids of sources to search, as `carrel/sources` has them, `workspace` among them. Without it the question decides. */
  readonly sources?: readonly string[];
  /** Say of the first 10 hits which commit changed them last, where they stand as they are committed. */
  readonly lastChange?: boolean;
  /** How many hits at most. */
  readonly limit?: number;
  /** Which chunks may answer. */
  readonly filters?: FiltersParam;
  /** How long to wait for a first index. */
  readonly waitMs?: number;
  /** Have the chat model say after each search whether the hits are enough; it may search for other words or for more, within 3 attempts. */
  readonly assess?: boolean;
  /** Under it the client lends its chat model, for `assess`. */
  readonly modelToken?: number | string;
  /** "places" gives `text`, a line for each hit with path, lines and symbol, and hits without their text. */
  readonly format?: 'full' | 'places';
}

/** Hits, best first. */
export interface SearchResult {
  readonly hits: readonly HitResult[];
  /** The places, a line each, where `format` is "places". */
  readonly text?: string;
  readonly elapsedMs: number;
  readonly state: 'empty' | 'error' | 'indexing' | 'ready';
  readonly pending: number;
  /** What was done to answer. */
  readonly plan: Readonly<Record<string, unknown>>;
  /** What was searched for beside the question: what a chat model made of it, or itself with its subject's name or with mistyped names put right. */
  readonly rewritten?: string;
  /** What a planner divided the question into, where these were searched for. */
  readonly subQueries?: readonly string[];
  /** Where the question went, where there are sources beside the workspace. */
  readonly routes?: readonly RouteResult[];
  /** Ids of the sources that weren't searched, since nothing in the question spoke for them. */
  readonly notSearched?: readonly string[];
  /** Folders that were not searched, and why; the others answer. */
  readonly missingFolders?: readonly MissingFolderResult[];
  /** What went to which service for this, this machine's included; unset where nothing did. A client's own model isn't in it. */
  readonly sent?: readonly SentResult[];
  /** How sure it is that there is anything relevant at all, from 0 to 1; calibrated (docs/quality.md). Under 0.12 a context that nobody asked for holds pinned files alone; under 0.3 an answer says that it isn't sure. Unset where nothing was searched. */
  readonly confidence?: number;
  /** With `assess`: each search, and what the model said of it. */
  readonly attempts?: readonly AttemptResult[];
}

/** What a remote service was sent for one request. */
export interface SentResult {
  readonly provider: string;
  /** With the port where it isn't the usual one. */
  readonly host: string;
  /** What it was asked as; a planner is asked as "chat". */
  readonly what: 'chat' | 'embedder' | 'planner' | 'reranker' | 'store' | 'tool';
  readonly requests: number;
  /** Texts, or messages of a conversation. */
  readonly texts: number;
  /** Of the requests, without headers. */
  readonly bytes: number;
  /** As the service counted them, or an estimate; answers of chat models too. */
  readonly tokens: number;
  /** US dollars by the model's prices; 0 where none are known. */
  readonly cost: number;
}

/** How each stage saw a hit. */
export interface SignalsResult {
  /** Cosine. */
  readonly dense?: number;
  readonly denseRank?: number;
  /** BM25F. */
  readonly lexical?: number;
  readonly lexicalRank?: number;
  readonly fused: number;
  /** The reranker's score, from 0 to 1. */
  readonly rerank?: number;
  readonly matched: readonly string[];
  readonly boosts: readonly Boost[];
  /** What each rule added to the hit's score or took from it, in hundredths: they add up to it. */
  readonly contributions?: readonly Contribution[];
}

/** A file that isn't in the index, and why. */
export interface SkippedFile {
  readonly path: string;
  readonly reason: string;
}

/** What became of it. */
export interface SourceChanged {
  readonly id: string;
  /** False where the person said no, or nobody could ask them. */
  readonly changed: boolean;
  /** The settings file that was written. */
  readonly file?: string;
  /** Why nothing was changed, and how else to do it. */
  readonly problem?: string;
}

/** One source. */
export interface SourceResult {
  /** The name that `sources` of other requests takes. */
  readonly id: string;
  /** `code` for the workspace, `documents`, `git` or `mcp`. */
  readonly kind: string;
  /** What whoever chooses between sources sees. */
  readonly description: string;
  readonly folder: string;
  readonly state: 'empty' | 'error' | 'indexing' | 'ready';
  readonly files: number;
  readonly chunks: number;
  /** Files that wait for indexing. */
  readonly pending: number;
  /** When it was last compared with its folder. ISO 8601, UTC. */
  readonly lastIndexed?: string;
  /** What a person may want to mend, in words. */
  readonly problems?: readonly string[];
  /** What could not be read, and why. */
  readonly failed?: readonly FailedFile[];
}

/** `carrel/sources/add`: add a source to the person's own settings file, or change one. The person is asked first. */
export interface SourcesAddParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** What it is called: small letters, digits, `-` and `_`. */
  readonly id: string;
  /** A folder (absolute, or with `~`), `mcp://SERVER` with the beginning of the resources' URIs behind it, or `qdrant://HOST:PORT/NAME`. With `git` empty for the workspace's own history. */
  readonly place?: string;
  /** The history of a repository, in place of documents. */
  readonly git?: boolean;
  /** One line on what it holds, for whoever chooses. */
  readonly description?: string;
  /** Mark documents that are older as outdated. */
  readonly outdatedAfterDays?: number;
  /** Where a server's key is: `env:NAME`, `keyring` or `none`. */
  readonly key?: string;
}

/** `carrel/sources`: what a question in this folder can be answered from. Makes no index. */
export interface SourcesParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
}

/** `carrel/sources/remove`: take a source out of the settings file, with what is kept of it. The person is asked first. */
export interface SourcesRemoveParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  readonly id: string;
}

/** The workspace first, then the others in the order of the settings. */
export interface SourcesResult {
  readonly sources: readonly SourceResult[];
}

/** `carrel/status`: what the index holds and what it is doing. */
export interface StatusParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
}

/** The state of one folder's index; also the content of `carrel/statusChanged`. */
export interface StatusResult {
  readonly workspaceFolder: string;
  /** What the folder is called in answers, beside others that are open. */
  readonly name: string;
  readonly state: 'empty' | 'error' | 'indexing' | 'ready';
  /** Whether this server writes the index, follows another, or hasn't opened it. */
  readonly role: 'closed' | 'follower' | 'writer';
  readonly files: number;
  readonly chunks: number;
  /** Size of the index on disk. */
  readonly bytes: number;
  /** Files by language. */
  readonly languages: Readonly<Record<string, number>>;
  readonly model: ModelInfo;
  /** The index's folder. */
  readonly store: string;
  /** Where its vectors are kept besides, if the setting `store` says so. */
  readonly vectors?: VectorsInfo;
  /** ISO 8601, UTC. */
  readonly lastIndexed?: string;
  /** The commit that was checked out when the last run over all files began. */
  readonly lastCommitSha?: string;
  /** The commit that is checked out now. */
  readonly headSha?: string;
  /** Files that wait for indexing. */
  readonly pending: number;
  /** Whether a run over all files has ended. If not, `ready` means that a part of them answers. */
  readonly complete?: boolean;
  /** Files that a run over all files has still to do, or left when it was cancelled, killed or failed; the next one resumes. */
  readonly unfinished?: number;
  /** What was left out, and why: the first 1,000. */
  readonly skipped: readonly SkippedFile[];
  /** Paths left out, by reason. */
  readonly leftOut?: Readonly<Record<string, number>>;
  /** Files whose encoding is a guess. */
  readonly guessedEncodings?: number;
  /** Files that failed, and why: the first 1,000. */
  readonly failed: readonly FailedFile[];
  /** How many files failed; `carrel/statusChanged` has this number alone. */
  readonly failedFiles: number;
  /** How many of these only hold a text that the model refused. */
  readonly refusedFiles?: number;
  /** Chunks that words alone find, until the embedding model gives them a vector. */
  readonly chunksWithoutVectors?: number;
  /** Files in which secrets are masked. */
  readonly maskedFiles: number;
  /** How many secrets are masked in them. */
  readonly maskedSecrets: number;
  /** What a person may want to mend, in words. */
  readonly problems?: readonly string[];
  readonly error?: string;
}

/** A tool that the model wants run. */
export interface ToolCall {
  /** What the tool's answer names it by. */
  readonly id: string;
  readonly name: string;
  /** As the model gave them; the server checks them. */
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** A tool of the catalogue. */
export interface ToolResult {
  /** With its source before it: `git.git_log`. */
  readonly name: string;
  readonly description: string;
  readonly tags?: readonly string[];
  readonly risk: 'dangerous' | 'moderate' | 'safe';
  /** The JSON schema of its arguments. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly examples?: readonly string[];
  /** Only `builtIn` and `approved` ones are shown to models and used by pipelines. */
  readonly state: 'approved' | 'builtIn' | 'changed' | 'new';
  /** The description that was approved, of a changed one. */
  readonly before?: string;
  /** Comparable within one answer. */
  readonly score?: number;
  /** The request's words that it holds. */
  readonly why?: readonly string[];
}

/** A tool that the model is offered. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON schema of the arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** `carrel/tools/list`: all tools; sources are read again, and the person is asked, only where that is wanted. */
export interface ToolsListParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  /** Start and ask each server that is set, read each file. */
  readonly refresh?: boolean;
  /** Have the person look at what is new or changed, by `carrel/confirm`. */
  readonly approve?: boolean;
  /** Also give usable tools as schemas of this form. */
  readonly export?: 'anthropic' | 'mcp' | 'openai';
}

/** All tools, and what a person may want to mend. */
export interface ToolsListResult {
  readonly tools: readonly ToolResult[];
  /** Unread sources, duplicates, clashes of names, what waits. */
  readonly problems: readonly string[];
  readonly exported?: readonly Readonly<Record<string, unknown>>[];
}

/** `carrel/tools/search`: find the few tools that fit a request. */
export interface ToolsSearchParams {
  /** URI or path of the folder; the only or first one by default. */
  readonly workspaceFolder?: string;
  readonly query: string;
  readonly limit?: number;
  /** The highest risk that they may have. */
  readonly risk?: 'dangerous' | 'moderate' | 'safe';
  /** Tags that each must have. */
  readonly tags?: readonly string[];
}

/** The tools that fit, best first. */
export interface ToolsSearchResult {
  readonly tools: readonly ToolResult[];
  readonly elapsedMs: number;
}

/** The copy of an index's vectors in the store that is set. */
export interface VectorsInfo {
  /** `lancedb` or `qdrant`. */
  readonly kind: string;
  readonly place: string;
  /** Whether it answers questions (`ready`); else the index's own vectors do. */
  readonly state: 'filling' | 'opening' | 'ready' | 'unreachable' | 'waiting';
  /** Whether vectors go to another machine. */
  readonly leavesMachine: boolean;
  /** Chunks that it holds. */
  readonly held: number;
  /** Chunks that wait for being added or deleted there. */
  readonly backlog: number;
  /** For how long the oldest of these waits. */
  readonly lagSeconds: number;
  /** Why it doesn't answer. */
  readonly problem?: string;
}

/** A chat model's answer from one of the ways. */
export interface WayAnswer {
  /** Behind a citation that doesn't hold stands `[unverified]`. */
  readonly text?: string;
  /** What it was given: of whole files those that the model has room for. */
  readonly files: readonly string[];
  /** How many places it cites. */
  readonly citations?: number;
  /** How many of them don't hold. */
  readonly unverified?: number;
  readonly promptTokens?: number;
  readonly answerTokens?: number;
  readonly elapsedMs?: number;
  /** Why there is no answer. */
  readonly problem?: string;
}

/** One way to answer: what it sends, how long it took to make, and from which files it is. */
export interface WayResult {
  readonly tokens: number;
  readonly elapsedMs: number;
  readonly files: readonly string[];
  /** How many of them the chat model has room for, without one the budget. */
  readonly fitting: number;
  /** How many a chunk has; unset for chunks by syntax and whole files. */
  readonly lines?: number;
  /** What the chat model says of it, as `sufficient`. */
  readonly judged?: string;
}

/** Every request: its parameters and its result. */
export interface Requests {
  'carrel/status': { params: StatusParams; result: StatusResult };
  'carrel/index': { params: IndexParams; result: IndexResult };
  'carrel/search': { params: SearchParams; result: SearchResult };
  'carrel/context': { params: ContextParams; result: ContextResult };
  'carrel/augment': { params: AugmentParams; result: AugmentResult };
  'carrel/chat': { params: ChatParams; result: ChatResult };
  'carrel/review': { params: ReviewParams; result: ReviewResult };
  'carrel/explain': { params: ExplainParams; result: Readonly<Record<string, unknown>> };
  'carrel/files': { params: FilesParams; result: FilesResult };
  'carrel/compare': { params: CompareParams; result: CompareResult };
  'carrel/citations': { params: CitationsParams; result: CitationsResult };
  'carrel/providers': { params: ProvidersParams; result: ProvidersResult };
  'carrel/sources': { params: SourcesParams; result: SourcesResult };
  'carrel/sources/add': { params: SourcesAddParams; result: SourceChanged };
  'carrel/sources/remove': { params: SourcesRemoveParams; result: SourceChanged };
  'carrel/key': { params: KeyParams; result: KeyResult };
  'carrel/audit': { params: AuditParams; result: AuditResult };
  'carrel/tools/search': { params: ToolsSearchParams; result: ToolsSearchResult };
  'carrel/tools/list': { params: ToolsListParams; result: ToolsListResult };
  'carrel/pipeline/validate': { params: PipelineParams; result: PipelineChecked };
  'carrel/pipeline/run': { params: PipelineRunParams; result: PipelineRunResult };
  'carrel/clear': { params: ClearParams; result: ClearResult };
}

/** What the server asks: its parameters and its result. */
export interface ClientRequests {
  'carrel/complete': { params: CompleteParams; result: CompleteResult };
  'carrel/confirm': { params: ConfirmParams; result: ConfirmResult };
}

/** What such a request reports before its result. */
export interface PartialResults {
  'carrel/chat': ChatStep;
  'carrel/review': ReviewStep;
  'carrel/pipeline/run': PipelineStep;
}

/** What the server sends by itself. */
export interface Notifications {
  'carrel/statusChanged': StatusResult;
}

/** The server's settings, under `carrel`. */
export const SETTING_KEYS = [
  'ragEnabled',
  'ragTopK',
  'ragAutoIndex',
  'budget',
  'budgetShare',
  'budgetCeiling',
  'promptTokens',
  'exclude',
  'excludedFolders',
  'editorExclude',
  'secretPatterns',
  'maxFileBytes',
  'languages',
  'editorLanguages',
  'chunking',
  'chunkLines',
  'chunkOverlap',
  'classLines',
  'storage',
  'cacheFolder',
  'tokenizer',
  'models',
  'store',
  'limits',
  'audit',
  'httpProxy',
  'planner',
  'plannerSeconds',
  'rerank',
  'rerankerSeconds',
  'watch',
  'logLevel',
] as const;
