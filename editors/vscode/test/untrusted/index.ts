/** Tests for a folder that the person doesn't trust. */

export { run } from '../host/index';
