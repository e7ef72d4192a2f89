/** Random choices that a seed repeats. What concurrent requests meet still depends on their timing. */
export class Random {
  private state: number

  constructor(seed: number) {
    this.state = seed >>> 0
  }

  /** At least 0, below 1 (mulberry32). */
  readonly next = (): number => {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  readonly below = (end: number): number => Math.floor(this.next() * end)

  readonly chance = (share: number): boolean => this.next() < share

  readonly of = <A>(all: ReadonlyArray<A>): A => all[this.below(all.length)] as A

  /** A choice with weights. */
  readonly weighted = <A>(all: ReadonlyArray<readonly [weight: number, value: A]>): A => {
    let left = this.next() * all.reduce((total, [weight]) => total + weight, 0)
    return (all.find(([weight]) => (left -= weight) < 0) ?? all[0])?.[1] as A
  }
}
