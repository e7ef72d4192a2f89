import { execFile, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdtemp, readFile, rm, writeFile, mkdir } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type S3, startS3 } from "../../support/storage/s3.ts"

// Common S3 clients, where installed: aws, rclone, s3cmd.
const isInstalled = (name: string) => {
  const installed = spawnSync(name, ["--version"]).status === 0
  if (!installed)
    process.stderr.write(`SKIPPED: ${name} is not installed, so its test of the S3 endpoint does not run\n`)
  return installed
}

let s3: S3
let directory: string
const big = randomBytes(12 * 1024 * 1024)
const odd = "sub dir/a b+c%é😀.bin"

beforeAll(async () => {
  s3 = await startS3()
  directory = await mkdtemp(join(tmpdir(), "clients-"))
  await mkdir(join(directory, "tree", "sub dir"), { recursive: true })
  await writeFile(join(directory, "tree", "big"), big)
  await writeFile(join(directory, "tree", odd), "odd")
})
afterAll(async () => {
  await s3.stop()
  await rm(directory, { recursive: true, force: true })
})

/** Runs a program in the directory and returns its output; fails if it fails. */
const run = async (program: string, args: ReadonlyArray<string>) => {
  const { AWS_CA_BUNDLE: _, ...environment } = process.env
  const env = {
    ...environment,
    AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
    AWS_DEFAULT_REGION: "us-east-1",
    AWS_EC2_METADATA_DISABLED: "true"
  }
  return (await promisify(execFile)(program, args, { cwd: directory, env, maxBuffer: 2 ** 26 })).stdout
}

const same = async (name: string) => {
  assert.isTrue(big.equals(await readFile(join(directory, name, "big"))))
  assert.strictEqual(await readFile(join(directory, name, odd), "utf8"), "odd")
}

describe("clients", () => {
  it.skipIf(!isInstalled("aws"))("aws", { timeout: 120_000 }, async () => {
    const aws = (...args: ReadonlyArray<string>) => run("aws", ["--endpoint-url", s3.endpoint, ...args])
    await aws("s3", "mb", "s3://aws")
    await aws("s3", "sync", "tree", "s3://aws/tree", "--no-progress")
    assert.strictEqual(await aws("s3", "sync", "tree", "s3://aws/tree", "--no-progress"), "")
    await aws("s3", "cp", "s3://aws/tree/big", "s3://aws/copy", "--no-progress")
    await aws("s3", "sync", "s3://aws/tree", "from-aws", "--no-progress")
    await same("from-aws")
    assert.match(await aws("s3", "ls", "s3://aws", "--recursive"), /12582912 copy\n/)
    const presigned = (await aws("s3", "presign", "s3://aws/copy")).trim()
    assert.strictEqual((await (await fetch(presigned)).arrayBuffer()).byteLength, big.length)
    await aws("s3", "rb", "--force", "s3://aws")
  })

  it.skipIf(!isInstalled("rclone"))("rclone", { timeout: 120_000 }, async () => {
    const config = [
      "type = s3",
      "provider = Other",
      "env_auth = true",
      "region = us-east-1",
      `endpoint = ${s3.endpoint}`
    ]
    await writeFile(join(directory, "rclone.conf"), `[t]\n${config.join("\n")}\n`)
    const rclone = (...args: ReadonlyArray<string>) =>
      run("rclone", ["--config", "rclone.conf", "--s3-upload-cutoff", "6M", "--s3-chunk-size", "5M", ...args])
    await rclone("mkdir", "t:rclone")
    await rclone("sync", "tree", "t:rclone/tree")
    await rclone("check", "--download", "tree", "t:rclone/tree")
    await rclone("copyto", "t:rclone/tree/big", "t:rclone/copy")
    await rclone("copy", "t:rclone/tree", "from-rclone")
    await same("from-rclone")
    assert.strictEqual(await rclone("lsf", "t:rclone"), "copy\ntree/\n")
    await rclone("purge", "t:rclone")
  })

  it.skipIf(!isInstalled("s3cmd"))("s3cmd", { timeout: 120_000 }, async () => {
    const { host } = new URL(s3.endpoint)
    const config = [`host_base = ${host}`, `host_bucket = ${host}`, "use_https = False", "bucket_location = us-east-1"]
    await writeFile(join(directory, "s3cfg"), `[default]\n${config.join("\n")}\n`)
    const s3cmd = (...args: ReadonlyArray<string>) =>
      run("s3cmd", [
        "-c",
        "s3cfg",
        "--access_key",
        s3.credentials.accessKeyId,
        "--secret_key",
        s3.credentials.secretAccessKey,
        "--no-progress",
        ...args
      ])
    await s3cmd("mb", "s3://s3cmd")
    await s3cmd("sync", "--multipart-chunk-size-mb=5", "tree/", "s3://s3cmd/tree/")
    await s3cmd("cp", "s3://s3cmd/tree/big", "s3://s3cmd/copy")
    await s3cmd("modify", "--add-header=Cache-Control: max-age=1", "s3://s3cmd/copy")
    await mkdir(join(directory, "from-s3cmd"))
    await s3cmd("sync", "s3://s3cmd/tree/", "from-s3cmd/")
    await same("from-s3cmd")
    assert.match(await s3cmd("info", "s3://s3cmd/copy"), /File size: 12582912/)
    await s3cmd("del", "--recursive", "--force", "s3://s3cmd")
    await s3cmd("rb", "s3://s3cmd")
  })
})
