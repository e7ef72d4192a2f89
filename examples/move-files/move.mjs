// Copies the buckets of a Supabase project and their files to another project. Files that are there in the same size are
// left alone, so that an interrupted copy goes on when it is started again.
import { createClient } from "@supabase/supabase-js"

const setting = (name) => {
  const value = process.env[name]
  if (!value)
    throw new Error(`${name} is not set: OLD_URL, OLD_KEY, NEW_URL and NEW_KEY are needed, keys of service_role`)
  return value
}
const client = (url, key) =>
  createClient(setting(url), setting(key), { auth: { persistSession: false, autoRefreshToken: false } }).storage
const [from, to] = [client("OLD_URL", "OLD_KEY"), client("NEW_URL", "NEW_KEY")]

const good = ({ data, error }, what) => {
  if (error) throw new Error(`${what}: ${error.message}`)
  return data
}

const pageSize = 1000

/** Paths of all files in a folder and those below. */
async function* filesIn(bucket, folder = "") {
  for (let offset = 0; ; offset += pageSize) {
    const page = good(await from.from(bucket).list(folder, { limit: pageSize, offset }), `${bucket}/${folder}`)
    for (const { id, metadata, name } of page) {
      const path = folder === "" ? name : `${folder}/${name}`
      if (id === null) yield* filesIn(bucket, path)
      else yield { path, size: metadata.size }
    }
    if (page.length < pageSize) return
  }
}

const move = async (bucket, { path, size }) => {
  const existing = await to.from(bucket).info(path)
  if (existing.data?.size === size) return false
  const what = `${bucket}/${path}`
  const { cacheControl, contentType, metadata } = good(await from.from(bucket).info(path), what)
  const bytes = good(await from.from(bucket).download(path).asStream(), what)
  const cacheSeconds = /max-age=(\d+)/.exec(cacheControl)?.[1]
  const options = { contentType, metadata, upsert: true, cacheControl: cacheSeconds, duplex: "half" }
  good(await to.from(bucket).upload(path, bytes, options), what)
  return true
}

let [moved, kept] = [0, 0]
const existing = new Set(good(await to.listBuckets(), "buckets").map(({ id }) => id))
for (const bucket of good(await from.listBuckets(), "buckets")) {
  if (!existing.has(bucket.id)) {
    const options = {
      public: bucket.public,
      fileSizeLimit: bucket.file_size_limit,
      allowedMimeTypes: bucket.allowed_mime_types
    }
    good(await to.createBucket(bucket.id, options), bucket.id)
  }
  const files = filesIn(bucket.id)
  // Four at a time, taken from one list.
  const workers = Array.from({ length: 4 }, async () => {
    for await (const file of files) {
      if (await move(bucket.id, file)) moved++
      else kept++
    }
  })
  await Promise.all(workers)
}
process.stdout.write(`${moved} files copied, ${kept} were there already\n`)
