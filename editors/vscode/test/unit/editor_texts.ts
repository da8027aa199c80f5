/** What the modules that need no editor use of `vscode`: texts in English. */

export const env = { language: 'en' };

export const l10n = {
  t: (text: string, ...values: readonly (string | number | boolean)[]): string =>
    text.replace(/\{(\d+)\}/g, (whole, at: string) => String(values[Number(at)] ?? whole)),
};
