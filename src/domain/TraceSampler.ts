/** Grants so many things in a second, and refuses the others. */
export class PerSecond {
  private readonly most: number
  private second = 0
  private granted = 0

  constructor(most: number) {
    this.most = most
  }

  /** `now` in ms, of any clock. */
  take(now: number): boolean {
    const second = Math.floor(now / 1000)
    if (second !== this.second) {
      this.second = second
      this.granted = 0
    }
    return ++this.granted <= this.most
  }
}

/** Traces that callers may ask for in a second, beyond the share that is traced anyway. */
const askedPerSecond = 10

/** Chooses the requests that are traced. A caller chooses neither the share nor, by its trace id, the outcome. */
export class TraceSampler {
  private readonly share: number
  private readonly random: () => number
  private readonly asked = new PerSecond(askedPerSecond)

  /** `share`: from 0 to 1. */
  constructor(share: number, random: () => number = Math.random) {
    this.share = share
    this.random = random
  }

  /** `asked`: the caller has sent a `traceparent` of a trace that is sampled. `now` in ms. */
  decide(asked: boolean, now: number): boolean {
    return this.random() < this.share || (asked && this.asked.take(now))
  }
}
