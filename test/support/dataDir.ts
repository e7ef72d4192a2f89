import { execFile } from "node:child_process"
import { appendFile, chmod, lstat, mkdtemp, readlink, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"

/** An empty data directory that also another user, whom PostgreSQL runs as under root, can enter. */
export const makeDataDir = async () => {
  const path = await mkdtemp(join(tmpdir(), "svc-test-"))
  await chmod(path, 0o711)
  return path
}

/** Removes a data directory whose server has ended, with the cluster it may have had to keep elsewhere. */
export const removeDataDir = async (path: string) => {
  const elsewhere = await readlink(join(path, "postgres")).catch(() => undefined)
  if (elsewhere !== undefined) await rm(dirname(elsewhere), { recursive: true, force: true })
  await rm(path, { recursive: true, force: true })
}

/** Turns a data directory whose service has ended into one to copy: PostgreSQL no longer waits for the disk. */
export const prepareDataDir = (path: string) =>
  appendFile(join(path, "postgres/postgresql.auto.conf"), "fsync = off\nfull_page_writes = off\n")

/** A data directory with a cluster, the service's tables and keys: a copy, which is quicker than a first start. */
export const copyDataDir = async (prepared: string) => {
  const path = await makeDataDir()
  // A link: PostgreSQL's user cannot enter the temporary directory, and the cluster is elsewhere.
  if ((await lstat(join(prepared, "postgres"))).isSymbolicLink()) return path
  await promisify(execFile)("cp", ["--archive", "--reflink=auto", `${prepared}/.`, path])
  return path
}
