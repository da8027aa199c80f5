/** When a server that died may be started again. */

const DELAYS_MS = [250, 1_000, 2_000, 4_000, 8_000];
/** A server that lived so long was healthy: what killed it counts as the first fault again. */
const HEALTHY_MS = 60_000;

export class Backoff {
  private deaths = 0;

  /** How long to wait before the next start, after a run of `livedMs`; undefined when it's time to give up. */
  next(livedMs: number): number | undefined {
    if (livedMs >= HEALTHY_MS) this.reset();
    return DELAYS_MS[this.deaths++];
  }

  /** A person asked for a new try. */
  reset(): void {
    this.deaths = 0;
  }
}
