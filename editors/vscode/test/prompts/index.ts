/** The editor's entry to this suite. */

export { run } from '../host/index';
