/** The longest text that is put together, in characters. */
const maxText = 32 * 1024 * 1024

/**
 * Puts texts together that were sent in pieces `change,piece,last|text` (domain/changes/LogSql.ts). The pieces of one
 * change follow each other. Any session may send such notifications, so their number is bounded.
 */
export class Pieces {
  private parts: Array<string> = []
  private length = 0
  private change = ""

  /** A whole text, once its last piece is there. */
  add(payload: string): string | undefined {
    const head = /^(\d{1,10}),(\d{1,6}),(\d{1,6})\|/.exec(payload)
    if (head === null) return undefined
    const [prefix, change = "", piece, last] = head
    if (piece === "0") this.reset(change)
    else if (change !== this.change || Number(piece) !== this.parts.length) return this.reset("")
    this.parts.push(payload.slice(prefix.length))
    this.length += payload.length
    if (this.length > maxText) return this.reset("")
    if (piece !== last) return undefined
    const text = this.parts.join("")
    this.reset("")
    return text
  }

  private reset(change: string) {
    this.change = change
    this.parts = []
    this.length = 0
    return undefined
  }
}
