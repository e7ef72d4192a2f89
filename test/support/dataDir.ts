import { execFile } from "node:child_process"
import { appendFile, chmod, lstat, mkdtemp, readlink, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"

/** An empty data directory that other users can enter: when started as root, PostgreSQL runs as another user. */
export const makeDataDir = async () => {
  const path = await mkdtemp(join(tmpdir(), "svc-test-"))
  await chmod(path, 0o711)
  return path
}

/** Removes the data directory of a server that has exited, and its cluster if that is in another directory. */
export const removeDataDir = async (path: string) => {
  const elsewhere = await readlink(join(path, "postgres")).catch(() => undefined)
  if (elsewhere !== undefined) await rm(dirname(elsewhere), { recursive: true, force: true })
  await rm(path, { recursive: true, force: true })
}

/** Test data need not survive a crash of the machine, and are too few for large buffers and what autovacuum looks after. */
const settings = "fsync = off\nfull_page_writes = off\nautovacuum = off\nshared_buffers = 32MB\n"

/** Prepares the data directory of a service that has exited for copying: turns off what its PostgreSQL does for safety. */
export const prepareDataDir = (path: string) => appendFile(join(path, "postgres/postgresql.auto.conf"), settings)

/** Copies a data directory with its cluster, the service's tables and the keys, which is faster than a first start. */
export const copyDataDir = async (prepared: string) => {
  const path = await makeDataDir()
  // A link means that PostgreSQL's user cannot enter the temporary directory, so the cluster is in another directory.
  if ((await lstat(join(prepared, "postgres"))).isSymbolicLink()) return path
  await promisify(execFile)("cp", ["--archive", "--reflink=auto", `${prepared}/.`, path])
  return path
}
