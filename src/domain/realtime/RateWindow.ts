/** Counts what one client does, in windows of a fixed length; cheaper than a sliding one, and exact to a factor of two. */
export class RateWindow {
  private count = 0
  private since = Number.NEGATIVE_INFINITY
  private readonly most: number
  private readonly millis: number

  constructor(most: number, millis: number) {
    this.most = most
    this.millis = millis
  }

  /** False if that is one too many. */
  take(now: number): boolean {
    if (now - this.since > this.millis) {
      this.count = 0
      this.since = now
    }
    return ++this.count <= this.most
  }
}
