/**
 * `npm run bench:storage`: the embedded S3 endpoint compared to a bare file server on the same disk in the same run.
 * Everything runs on loopback, in a data directory under the temporary directory. Exit code 1 if a request fails or
 * returns other bytes than were stored.
 */
import { cpus, loadavg } from "node:os"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { runProgram } from "../support/program.ts"
import { remote } from "../support/remote.ts"
import { type Service } from "../support/service.ts"
import { type StorageClient } from "./client.ts"
import { type StorageFiles } from "./files.ts"
import { measureLarge } from "./large.ts"
import { measureListing } from "./listing.ts"
import { measureSmall } from "./small.ts"

const help = `npm run bench:storage -- [options]
  --only a,b      only these parts: a b c
  --quick         shorter measurements, for a first look
  --cpu-prof      the service writes a CPU profile when it ends
  --entry FILE    the service's program (default dist/main.mjs)

  a  objects of 100 MiB, one and four at once
  b  objects of 1 KiB, 32 at once
  c  listings of 100,000 objects`

const parts = { a: measureLarge, b: measureSmall, c: measureListing }

const run = async (service: Service, wants: (part: string) => boolean, quick: boolean) => {
  const client = remote<StorageClient>("storage/client.ts")
  const files = remote<StorageFiles>("storage/files.ts")
  try {
    const filesUrl = await files.call("start", join(service.dataDir, "bench-files"))
    const secrets: Record<string, string> = JSON.parse(await readFile(join(service.dataDir, "secrets.json"), "utf8"))
    const { s3_access_key: accessKey = "", s3_secret_key: secretKey = "" } = secrets
    await client.call("use", { url: service.s3Url, accessKey, secretKey })
    console.log(`Node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before`)
    for (const [part, measure] of Object.entries(parts)) {
      if (wants(part)) await measure({ service, client, files, filesUrl }, quick)
    }
  } finally {
    await Promise.all([client.stop(), files.stop()])
  }
  return 0
}

await runProgram({ help, parts: "abc", service: { setup: () => [] }, run })
