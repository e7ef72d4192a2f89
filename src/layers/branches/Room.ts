import { Effect } from "effect"
import { readFile, statfs } from "node:fs/promises"
import { join } from "node:path"
import { Unavailable } from "../../domain/errors.ts"
import { type DirectConnection } from "../postgres/DirectConnection.ts"

export const noSpace = (details: string) =>
  new Unavailable({
    error: "There is not enough room on the disk for a copy of the database",
    code: "BRANCH_NO_SPACE",
    details,
    retry_after: 60
  })

/** File systems whose copies share their blocks: a copy takes no room. */
const sharing = new Set([0x9123683e, 0x58465342, 0x2fc12fc1, 0xca451a4e]) // btrfs, xfs, zfs, bcachefs

/** Files, or pages through the write-ahead log; `clone`: files as the file system copies them best (PostgreSQL 18). */
export interface CopyPlan {
  readonly byFiles: boolean
  readonly clone: boolean
}

/** Room that is left for everything else. */
const reserve = 64 * 1024 * 1024

/** From this size on, in bytes, copying files keeps others waiting for less time than writing pages to the log does. */
const largeSize = 200 * 1024 * 1024

/**
 * The size of the database that it is connected to, and its server's disk. What the disk is like is known only of a
 * server on this machine: its files must say the same of it as itself does.
 */
const sectionOf = Effect.fnUntraced(function* (main: DirectConnection) {
  const [row] = yield* Effect.orElseSucceed(
    main.query(
      `select pg_database_size(current_database())::text as size, current_setting('data_directory') as directory,
              floor(extract(epoch from pg_postmaster_start_time()))::text as started,
              current_setting('server_version_num')::int >= 180000 as clones`
    ),
    () => []
  )
  if (row === undefined) return undefined
  const directory = String(row["directory"])
  const disk = yield* Effect.promise(async () => {
    try {
      const lines = (await readFile(join(directory, "postmaster.pid"), "utf8")).split("\n")
      if (lines[2]?.trim() !== row["started"]) return undefined
      const { bavail, bsize, type } = await statfs(directory)
      return { free: bavail * bsize, shares: sharing.has(type) }
    } catch {
      return undefined
    }
  })
  return { clones: row["clones"] === true, size: Number(row["size"]), disk }
})

const tooFull = (size: number, disk: { readonly free: number } | undefined) =>
  disk !== undefined && disk.free < size + reserve
    ? noSpace(`The database has ${size} bytes, the disk ${disk.free} free`)
    : undefined

/** How to copy the database. Refuses when the server's disk has less room than a copy takes. */
export const planCopy = Effect.fnUntraced(function* (main: DirectConnection) {
  const room = yield* sectionOf(main)
  const plan: CopyPlan = { byFiles: true, clone: false }
  if (room === undefined) return plan
  const { clones, disk, size } = room
  if (clones && disk?.shares === true) return { byFiles: true, clone: true }
  const full = tooFull(size, disk)
  if (full !== undefined) return yield* full
  // The log may take as much again; when the disk is full then, it is not this statement alone that fails.
  const roomy = disk === undefined || disk.free >= 2 * size + reserve
  // Where nothing is shared, cloning takes as long as copying, but for small files longer.
  return { byFiles: size >= largeSize || !roomy, clone: clones && size >= largeSize }
})

/** Refuses when the server's disk has no room for the database a second time. */
export const checkRoom = Effect.fnUntraced(function* (main: DirectConnection) {
  const room = yield* sectionOf(main)
  const full = room === undefined ? undefined : tooFull(room.size, room.disk)
  return full === undefined ? undefined : yield* full
})
