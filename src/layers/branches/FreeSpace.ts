import { readFile, statfs } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { Unavailable } from "../../domain/errors.ts"
import { type DirectConnection } from "../postgres/client/DirectConnection.ts"

/**
 * PostgreSQL writes postmaster.pid with the second in which its process began, and reports a moment after that, so the
 * two times may differ. In seconds.
 */
const longestDelay = 300

/** Columns that `isLocal` reads. */
export const serverColumns = `current_setting('port') as port,
              extract(epoch from pg_postmaster_start_time())::float8 as started`

/**
 * Whether the server that reports these columns is the one in `directory` on this machine: its postmaster.pid (PostgreSQL,
 * miscadmin.h) has the same port and about the same start.
 */
export const isLocal = (directory: string, server: { readonly [column: string]: unknown }) =>
  Effect.promise(async () => {
    const lines = (await readFile(join(directory, "postmaster.pid"), "utf8").catch(() => "")).split("\n")
    const delay = Math.floor(Number(server["started"])) - Number(lines[2])
    return delay >= 0 && delay <= longestDelay && Number(lines[3]) === Number(server["port"])
  })

export const noSpace = (details: string) =>
  new Unavailable({
    error: "Not enough disk space for a copy of the database",
    code: "BRANCH_NO_SPACE",
    details,
    retry_after: 60
  })

/** File systems that share blocks between copies, so that a copy takes no space. */
const sharing = new Set([0x9123683e, 0x58465342, 0x2fc12fc1, 0xca451a4e]) // btrfs, xfs, zfs, bcachefs

/** Copies files, or else pages through the write-ahead log. `clone`: the file system clones the files (PostgreSQL 18). */
export interface CopyPlan {
  readonly byFiles: boolean
  readonly clone: boolean
}

/** Space in bytes that stays free. */
const reserve = 64 * 1024 * 1024

/** The size in bytes from which copying files is faster than writing pages to the log. */
const largeSize = 200 * 1024 * 1024

/** The size of the connected database, and its server's disk, which is only known for a server on this machine. */
export const spaceOf = Effect.fnUntraced(function* (main: DirectConnection) {
  const [row] = yield* Effect.orElseSucceed(
    main.query(
      `select pg_database_size(current_database())::text as size, current_setting('data_directory') as directory,
              current_setting('server_version_num')::int >= 180000 as clones, ${serverColumns}`
    ),
    () => []
  )
  if (row === undefined) return undefined
  const directory = String(row["directory"])
  const disk = (yield* isLocal(directory, row))
    ? yield* Effect.promise(() =>
        statfs(directory).then(
          ({ bavail, bsize, type }) => ({ free: bavail * bsize, shares: sharing.has(type) }),
          () => undefined
        )
      )
    : undefined
  return { clones: row["clones"] === true, size: Number(row["size"]), disk }
})

const tooFull = (size: number, disk: { readonly free: number } | undefined) =>
  disk !== undefined && disk.free < size + reserve
    ? noSpace(`The database has ${size} bytes, and ${disk.free} bytes are free on the disk`)
    : undefined

/** How to copy the database. Fails when the server's disk has too little space for a copy. */
export const planCopy = Effect.fnUntraced(function* (main: DirectConnection) {
  const space = yield* spaceOf(main)
  const plan: CopyPlan = { byFiles: true, clone: false }
  if (space === undefined) return plan
  const { clones, disk, size } = space
  if (clones && disk?.shares === true) return { byFiles: true, clone: true }
  const full = tooFull(size, disk)
  if (full !== undefined) return yield* full
  // The log may take as much space again, and a full disk would make other statements fail too.
  const ample = disk === undefined || disk.free >= 2 * size + reserve
  // Cloning without shared blocks takes as long as copying, and longer for small files.
  return { byFiles: size >= largeSize || !ample, clone: clones && size >= largeSize }
})

/** Fails when the server's disk has too little space for a second copy of the database. */
export const checkFreeSpace = Effect.fnUntraced(function* (main: DirectConnection) {
  const space = yield* spaceOf(main)
  const full = space === undefined ? undefined : tooFull(space.size, space.disk)
  return full === undefined ? undefined : yield* full
})
