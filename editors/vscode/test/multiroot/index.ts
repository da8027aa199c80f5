/** Tests for a window with two folders. */

export { run } from '../host/index';
