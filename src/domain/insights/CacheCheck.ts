import { type Finding } from "./Insight.ts"

/** Blocks that statements of the database have read: found in PostgreSQL's memory, and not. */
export interface BlockReads {
  readonly hit: number
  readonly read: number
}

/** Blocks from which a ratio means something: 1 GiB. */
const enoughBlocks = 131_072
const [goodRatio, poorRatio] = [0.95, 0.8]

export const hitRatio = ({ hit, read }: BlockReads): number | null =>
  hit + read === 0 ? null : Math.round((10_000 * hit) / (hit + read)) / 10_000

export const cacheFinding = (name: string, blocks: BlockReads): Finding | undefined => {
  const ratio = hitRatio(blocks)
  if (ratio === null || blocks.hit + blocks.read < enoughBlocks || ratio >= goodRatio) return undefined
  return {
    kind: "low_cache_hit",
    severity: ratio < poorRatio ? "warning" : "info",
    object: { type: "database", schema: null, name, table: null },
    explanation: `PostgreSQL had ${Math.floor(100 * ratio)}% of the blocks in memory that statements read; 99% is usual. Tables that are read as a whole are the first cause, a small shared_buffers (a quarter of the memory is usual) the second.`,
    fix: null,
    details: { cache_hit_ratio: ratio, blocks_hit: blocks.hit, blocks_read: blocks.read }
  }
}
