import { Effect, type Scope } from "effect"
import { constants, copyFile, type FileHandle, mkdir, open, readdir, rename, rm, statfs } from "node:fs/promises"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { syncDirectory } from "../../../../process/StoredFile.ts"
import { type FileOwner } from "../../../../process/FileLock.ts"
import { attempt, errorCode, type StartError } from "../../../../process/StartError.ts"
import { type S3Error, s3Error } from "../../Error.ts"
import { DiskReserve } from "./DiskReserve.ts"

/** This many consecutive files go to the same directory, so that one sync of it serves many. */
const filesInARow = 64

/** Concurrent deletions. */
const deletions = 4

/**
 * The files of blobs: `blobs/<2 hex>/<id>`, created as `tmp/<id>`. An id consists of its directory, the number of the
 * store's start, and 96 random bits, so that leftovers of an earlier start are distinguishable from files being written.
 * A file that is being read is deleted after its last reader has closed.
 */
export class BlobFiles {
  private readonly root: string
  private readonly owner: FileOwner | undefined
  private readonly readers = new Map<string, number>()
  private readonly deleteOnUnpin = new Set<string>()
  private readonly deleting: Array<string> = []
  private readonly running = new Set<Promise<void>>()
  private readonly directories = new Map<string, Promise<void>>()
  private readonly syncs = new Map<string, () => Promise<void>>()
  private made = 0
  private start = "00000000"
  readonly space: DiskReserve

  constructor(root: string, owner: FileOwner | undefined) {
    this.root = root
    this.owner = owner
    this.space = new DiskReserve(async () => {
      const { bavail, bsize } = await statfs(root)
      return bavail * bsize
    })
  }

  /** Creates missing directories; closing the scope waits for pending deletions. */
  static readonly open = (
    root: string,
    owner: FileOwner | undefined
  ): Effect.Effect<BlobFiles, StartError, Scope.Scope> =>
    Effect.acquireRelease(
      attempt(`The object store's directory ${root} can't be created`, async () => {
        const files = new BlobFiles(root, owner)
        for (const path of [root, files.temporaryDirectory, join(root, "blobs")]) await files.makeDirectory(path)
        await syncDirectory(root)
        return files
      }),
      (files) => Effect.promise(() => files.settle())
    )

  get temporaryDirectory() {
    return join(this.root, "tmp")
  }

  get index() {
    return join(this.root, "index.db")
  }

  path(id: string) {
    return join(this.root, "blobs", id.slice(0, 2), id)
  }

  temporary(id: string) {
    return join(this.temporaryDirectory, id)
  }

  /** Sets the number of the store's start, which all new ids contain. */
  begin(start: number) {
    this.start = start.toString(16).padStart(8, "0")
    this.made = randomBytes(2).readUInt16BE() * filesInARow
  }

  newId() {
    const shard = Math.floor(this.made++ / filesInARow) % 256
    return `${shard.toString(16).padStart(2, "0")}${this.start}${randomBytes(12).toString("hex")}`
  }

  private isOlder(id: string) {
    return /^[0-9a-f]{34}$/.test(id) && id.slice(2, 10) < this.start
  }

  async create(id: string): Promise<FileHandle> {
    const handle = await open(this.temporary(id), "wx", 0o600)
    if (this.owner !== undefined) await handle.chown(this.owner.uid, this.owner.gid)
    return handle
  }

  /** Moves a synced file durably to its final name. */
  async place(id: string) {
    const directory = join(this.root, "blobs", id.slice(0, 2))
    await this.directory(directory)
    await rename(this.temporary(id), this.path(id))
    await this.sync(directory)
  }

  /** Copies a blob's file; the copy shares its blocks where the file system supports it. */
  async clone(from: string, id: string, size: number) {
    const [source, copy] = [this.path(from), this.temporary(id)]
    await copyFile(source, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE).catch(async () => {
      await this.space.take(size)
      await copyFile(source, copy, constants.COPYFILE_EXCL)
    })
    const handle = await open(this.temporary(id), "r+")
    try {
      if (this.owner !== undefined) await handle.chown(this.owner.uid, this.owner.gid)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await this.place(id)
  }

  /** Deletes a blob that was never put, under its temporary or final name. */
  async discard(id: string) {
    await rm(this.temporary(id), { force: true })
    await rm(this.path(id), { force: true })
  }

  /** Prevents deletion of these files until `unpin`. */
  pin(ids: Iterable<string>) {
    for (const id of ids) this.readers.set(id, (this.readers.get(id) ?? 0) + 1)
  }

  unpin(ids: Iterable<string>) {
    const free: Array<string> = []
    for (const id of ids) {
      const left = (this.readers.get(id) ?? 1) - 1
      if (left > 0) this.readers.set(id, left)
      else {
        this.readers.delete(id)
        if (this.deleteOnUnpin.delete(id)) free.push(id)
      }
    }
    this.free(free)
  }

  /** Deletes files that the index no longer references, in the background. Failures are left to the next sweep. */
  readonly free = (ids: ReadonlyArray<string>): void => {
    for (const id of ids) {
      if (this.readers.has(id)) this.deleteOnUnpin.add(id)
      else this.deleting.push(id)
    }
    while (this.running.size < deletions && this.deleting.length > 0) {
      const run: Promise<void> = this.deleteAll().finally(() => this.running.delete(run))
      this.running.add(run)
    }
  }

  /** Waits for pending deletions. */
  async settle() {
    while (this.running.size > 0) await Promise.all(this.running)
  }

  /** The names of the directories in `blobs`. */
  async directoryNames() {
    return (await readdir(join(this.root, "blobs"))).filter((name) => /^[0-9a-f]{2}$/.test(name))
  }

  /** The blobs in such a directory that were created before this start. */
  async olderBlobs(directory: string) {
    return (await readdir(join(this.root, "blobs", directory))).filter((id) => this.isOlder(id))
  }

  /** Deletes temporary files from before this start. */
  async discardTemporary() {
    for (const id of await readdir(this.temporaryDirectory))
      if (this.isOlder(id)) await rm(this.temporary(id), { force: true })
  }

  private async deleteAll() {
    for (let id = this.deleting.pop(); id !== undefined; id = this.deleting.pop())
      await rm(this.path(id), { force: true }).catch(() => undefined)
  }

  /** Syncs a directory; calls during a sync share the next one. */
  private sync(path: string): Promise<void> {
    let run = this.syncs.get(path)
    if (run === undefined) this.syncs.set(path, (run = shared(() => syncDirectory(path))))
    return run()
  }

  private directory(path: string): Promise<void> {
    const known = this.directories.get(path)
    if (known !== undefined) return known
    const making = this.makeDirectory(path).then(() => this.sync(join(this.root, "blobs")))
    this.directories.set(path, making)
    making.catch(() => this.directories.delete(path))
    return making
  }

  private async makeDirectory(path: string) {
    const made = await mkdir(path, { recursive: true, mode: 0o700 })
    if (made === undefined || this.owner === undefined) return
    const handle = await open(path, "r")
    await handle.chown(this.owner.uid, this.owner.gid).finally(() => handle.close())
  }
}

/** Runs `work` one at a time; calls during a run share the next one. */
const shared = (work: () => Promise<void>): (() => Promise<void>) => {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  const run = (): Promise<void> => {
    if (running === undefined) return (running = work().finally(() => (running = undefined)))
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return run()
      })
    return next
  }
  return run
}

/** The S3Error for a full disk or too many open files; undefined for any other cause. */
export const fileFailure = (cause: unknown): S3Error | undefined => {
  const code = errorCode(cause) ?? ""
  if (["ENOSPC", "EDQUOT"].includes(code)) return s3Error("InsufficientStorage")
  if (["EMFILE", "ENFILE"].includes(code)) return s3Error("SlowDown")
  return undefined
}
