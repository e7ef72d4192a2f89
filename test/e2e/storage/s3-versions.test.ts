import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketVersioningCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  PutObjectTaggingCommand,
  UploadPartCommand
} from "@aws-sdk/client-s3"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { call, presigned, raw, refused, type S3, startS3 } from "../../support/storage/s3.ts"

describe("versions of objects", () => {
  let s3: S3
  let made = 0
  beforeAll(async () => {
    s3 = await startS3()
  })
  afterAll(() => s3.stop())

  const bucketWith = async (status?: "Enabled" | "Suspended") => {
    const Bucket = `versions-${made++}`
    await s3.client.send(new CreateBucketCommand({ Bucket }))
    if (status !== undefined) await set(Bucket, status)
    return Bucket
  }
  const set = (Bucket: string, Status: "Enabled" | "Suspended") =>
    s3.client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status } }))
  const put = async (Bucket: string, Body: string, Key = "k", more = {}) =>
    (await s3.client.send(new PutObjectCommand({ Bucket, Key, Body, ...more }))).VersionId
  const get = async (Bucket: string, VersionId?: string, Key = "k") => {
    const reply = await s3.client.send(new GetObjectCommand({ Bucket, Key, VersionId }))
    return `${await reply.Body?.transformToString()} ${reply.VersionId}`
  }
  const remove = async (Bucket: string, VersionId?: string, Key = "k") => {
    const { DeleteMarker, VersionId: id } = await s3.client.send(new DeleteObjectCommand({ Bucket, Key, VersionId }))
    return { DeleteMarker, id }
  }
  /** All versions in the order of the document, as `key id` with a star for the latest and `-` for delete markers. */
  const versions = async (Bucket: string, query: Readonly<Record<string, string>> = {}) => {
    const { text } = await call(s3, { path: `/${Bucket}`, query: { versions: "", ...query } })
    return [...text.matchAll(/<(Version|DeleteMarker)>(.*?)<\/\1>/gs)].map(([, kind, inner = ""]) => {
      const of = (name: string) => new RegExp(`<${name}>(.*?)</${name}>`).exec(inner)?.[1]
      return `${of("Key")} ${of("VersionId")}${of("IsLatest") === "true" ? "*" : ""}${kind === "Version" ? "" : "-"}`
    })
  }

  it("keeps each version of an object, and adds a delete marker in its place", async () => {
    const Bucket = await bucketWith()
    assert.isUndefined(await put(Bucket, "null"))
    await set(Bucket, "Enabled")
    assert.strictEqual((await s3.client.send(new GetBucketVersioningCommand({ Bucket }))).Status, "Enabled")
    const [one, two] = [await put(Bucket, "one"), await put(Bucket, "two")]
    assert.match(one ?? "", /^[0-9a-f]{32}$/)
    assert.deepStrictEqual(await versions(Bucket), [`k ${two}*`, `k ${one}`, "k null"])
    assert.deepStrictEqual(
      [await get(Bucket), await get(Bucket, one), await get(Bucket, "null")],
      [`two ${two}`, `one ${one}`, "null null"]
    )
    const marker = await remove(Bucket)
    assert.isTrue(marker.DeleteMarker)
    assert.deepStrictEqual(await versions(Bucket), [`k ${marker.id}*-`, `k ${two}`, `k ${one}`, "k null"])
    const { Contents } = await s3.client.send(new ListObjectsV2Command({ Bucket }))
    assert.isUndefined(Contents)
    assert.strictEqual(await refused(get(Bucket)), "404 NoSuchKey")
    const missing = await call(s3, { path: `/${Bucket}/k` })
    assert.deepStrictEqual(
      [missing.headers["x-amz-delete-marker"], missing.headers["x-amz-version-id"]],
      ["true", marker.id]
    )
    const named = await call(s3, { path: `/${Bucket}/k`, query: { versionId: marker.id ?? "" } })
    assert.deepStrictEqual([named.status, named.code, named.headers["allow"]], [405, "MethodNotAllowed", "DELETE"])
    assert.strictEqual(await get(Bucket, two), `two ${two}`)
    assert.strictEqual(await refused(get(Bucket, "f".repeat(32))), "404 NoSuchVersion")
    assert.strictEqual(await refused(get(Bucket, "nonsense")), "400 InvalidArgument")
    // Without the marker, the newest version is the current one again.
    assert.deepStrictEqual(await remove(Bucket, marker.id), { DeleteMarker: true, id: marker.id })
    assert.strictEqual(await get(Bucket), `two ${two}`)
    assert.deepStrictEqual(await remove(Bucket, two), { DeleteMarker: undefined, id: two })
    assert.strictEqual(await get(Bucket), `one ${one}`)
    assert.strictEqual(await refused(s3.client.send(new DeleteBucketCommand({ Bucket }))), "409 BucketNotEmpty")
    for (const id of [one, "null"]) await remove(Bucket, id)
    assert.deepStrictEqual(await versions(Bucket), [])
    await s3.client.send(new DeleteBucketCommand({ Bucket }))
  })

  it("replaces only the null version while versioning is suspended", async () => {
    const Bucket = await bucketWith("Enabled")
    const one = await put(Bucket, "one")
    await set(Bucket, "Suspended")
    assert.strictEqual(await put(Bucket, "a"), "null")
    assert.strictEqual(await put(Bucket, "b"), "null")
    assert.deepStrictEqual(await versions(Bucket), ["k null*", `k ${one}`])
    assert.deepStrictEqual(await remove(Bucket), { DeleteMarker: true, id: "null" })
    assert.deepStrictEqual(await versions(Bucket), ["k null*-", `k ${one}`])
    assert.strictEqual(await put(Bucket, "c"), "null")
    assert.deepStrictEqual(await versions(Bucket), ["k null*", `k ${one}`])
    await set(Bucket, "Enabled")
    const two = await put(Bucket, "two")
    await set(Bucket, "Suspended")
    await put(Bucket, "d")
    assert.deepStrictEqual(await versions(Bucket), ["k null*", `k ${two}`, `k ${one}`])
    assert.strictEqual(await get(Bucket, "null"), "d null")
  })

  it("lists versions in pages, also within a key and while they are deleted", async () => {
    const Bucket = await bucketWith()
    await put(Bucket, "0", "a/1")
    await set(Bucket, "Enabled")
    const ids: Array<string | undefined> = []
    for (const body of ["1", "2"]) ids.push(await put(Bucket, body, "a/1"))
    ids.push((await remove(Bucket, undefined, "a/1")).id)
    for (const key of ["a/2", "b&<", "c/1"]) await put(Bucket, key, key)
    const all = await versions(Bucket)
    assert.deepStrictEqual(all.slice(0, 4), [`a/1 ${ids[2]}*-`, `a/1 ${ids[1]}`, `a/1 ${ids[0]}`, "a/1 null"])
    for (const MaxKeys of [1, 2, 3, 1000]) {
      const seen: Array<string> = []
      let markers: object | undefined = {}
      while (markers !== undefined) {
        const page: {
          IsTruncated?: boolean | undefined
          NextKeyMarker?: string | undefined
          NextVersionIdMarker?: string | undefined
          Versions?: ReadonlyArray<{ Key?: string | undefined }> | undefined
          DeleteMarkers?: ReadonlyArray<{ Key?: string | undefined }> | undefined
        } = await s3.client.send(new ListObjectVersionsCommand({ Bucket, MaxKeys, ...markers, EncodingType: "url" }))
        seen.push(...[...(page.DeleteMarkers ?? []), ...(page.Versions ?? [])].map(({ Key }) => Key ?? ""))
        markers =
          page.IsTruncated === true
            ? { KeyMarker: decodeURIComponent(page.NextKeyMarker ?? ""), VersionIdMarker: page.NextVersionIdMarker }
            : undefined
      }
      assert.deepStrictEqual(seen, ["a/1", "a/1", "a/1", "a/1", "a/2", "b%26%3C", "c/1"], `${MaxKeys}`)
    }
    const grouped = await s3.client.send(new ListObjectVersionsCommand({ Bucket, Delimiter: "/" }))
    assert.deepStrictEqual(
      grouped.CommonPrefixes?.map(({ Prefix }) => Prefix),
      ["a/", "c/"]
    )
    assert.deepStrictEqual(
      grouped.Versions?.map(({ Key }) => Key),
      ["b&<"]
    )
    assert.deepStrictEqual(await versions(Bucket, { "key-marker": "a/1", "version-id-marker": "null" }), all.slice(4))
    assert.deepStrictEqual(await versions(Bucket, { "key-marker": "a/1" }), all.slice(4))
    // A page ended at the null version, which was deleted since: versions may be repeated, and none is left out.
    await remove(Bucket, "null", "a/1")
    const after = await versions(Bucket, { "key-marker": "a/1", "version-id-marker": "null" })
    assert.deepStrictEqual(
      after,
      all.filter((line) => line !== "a/1 null")
    )
    const without = await call(s3, { path: `/${Bucket}`, query: { versions: "", "version-id-marker": "x" } })
    assert.strictEqual(without.code, "InvalidArgument")
    const garbage = await call(s3, {
      path: `/${Bucket}`,
      query: { versions: "", "key-marker": "a/1", "version-id-marker": "x" }
    })
    assert.strictEqual(garbage.code, "InvalidArgument")
    assert.deepStrictEqual(
      await versions(Bucket, { prefix: "a/", "key-marker": "b&<", "version-id-marker": "null" }),
      []
    )
  })

  it("lists an older version that became the latest one between two pages", async () => {
    const Bucket = await bucketWith()
    await put(Bucket, "0")
    await set(Bucket, "Enabled")
    const ids = [await put(Bucket, "1"), await put(Bucket, "2"), await put(Bucket, "3")]
    const after = () => versions(Bucket, { "key-marker": "k", "version-id-marker": ids[2] ?? "" })
    assert.deepStrictEqual(await after(), [`k ${ids[1]}`, `k ${ids[0]}`, "k null"])
    await remove(Bucket, ids[2])
    assert.deepStrictEqual(await after(), [`k ${ids[1]}*`, `k ${ids[0]}`, "k null"])
    for (const id of ids.slice(0, 2)) await remove(Bucket, id)
    assert.deepStrictEqual(await after(), ["k null*"])
  })

  it("deletes, tags, describes and copies single versions", async () => {
    const Bucket = await bucketWith("Enabled")
    const one = await put(Bucket, "one", "k", { Tagging: "n=1" })
    const two = await put(Bucket, "two", "k", { Tagging: "n=2" })
    await s3.client.send(
      new PutObjectTaggingCommand({ Bucket, Key: "k", VersionId: one, Tagging: { TagSet: [{ Key: "n", Value: "9" }] } })
    )
    const tags = async (VersionId?: string) => {
      const found = await s3.client.send(new GetObjectTaggingCommand({ Bucket, Key: "k", VersionId }))
      return [found.TagSet?.[0]?.Value, found.VersionId]
    }
    assert.deepStrictEqual(
      [await tags(one), await tags()],
      [
        ["9", one],
        ["2", two]
      ]
    )
    const attributes = await s3.client.send(
      new GetObjectAttributesCommand({ Bucket, Key: "k", VersionId: one, ObjectAttributes: ["ObjectSize"] })
    )
    assert.deepInclude(attributes, { ObjectSize: 3, VersionId: one })
    const CopySource = `${Bucket}/k?versionId=${one}`
    const copy = await s3.client.send(new CopyObjectCommand({ Bucket, Key: "k", CopySource }))
    assert.strictEqual(copy.CopySourceVersionId, one)
    assert.strictEqual(await get(Bucket), `one ${copy.VersionId}`)
    const replaced = await s3.client.send(
      new CopyObjectCommand({
        Bucket,
        Key: "k",
        CopySource: `${Bucket}/k`,
        MetadataDirective: "REPLACE",
        Metadata: { a: "1" }
      })
    )
    assert.notStrictEqual(replaced.VersionId, copy.VersionId)
    assert.deepStrictEqual(
      (await s3.client.send(new HeadObjectCommand({ Bucket, Key: "k", VersionId: copy.VersionId }))).Metadata,
      {}
    )
    const { Deleted = [], Errors = [] } = await s3.client.send(
      new DeleteObjectsCommand({
        Bucket,
        Delete: {
          Objects: [
            { Key: "k", VersionId: two },
            { Key: "k" },
            { Key: "k", VersionId: one, ETag: "0" },
            { Key: "k", VersionId: "x" }
          ]
        }
      })
    )
    assert.deepStrictEqual(Errors.map(({ Code }) => Code).toSorted(), ["InvalidArgument", "PreconditionFailed"])
    assert.deepStrictEqual(Deleted[0], { Key: "k", VersionId: two })
    assert.deepInclude(Deleted[1], { Key: "k", DeleteMarker: true })
    assert.isString(Deleted[1]?.DeleteMarkerVersionId)
    const ofMarker = `${Bucket}/k?versionId=${Deleted[1]?.DeleteMarkerVersionId}`
    const copying = s3.client.send(new CopyObjectCommand({ Bucket, Key: "other", CopySource: ofMarker }))
    assert.strictEqual(await refused(copying), "400 InvalidRequest")
  })

  it("sees no object behind a delete marker in conditions, and completes uploads as versions", async () => {
    const Bucket = await bucketWith("Enabled")
    const one = await put(Bucket, "one")
    assert.strictEqual(await refused(put(Bucket, "x", "k", { IfNoneMatch: "*" })), "412 PreconditionFailed")
    await remove(Bucket)
    const two = await put(Bucket, "two", "k", { IfNoneMatch: "*" })
    const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand({ Bucket, Key: "k" }))
    const part = { Bucket, Key: "k", UploadId, PartNumber: 1, Body: "three" }
    const { ETag } = await s3.client.send(new UploadPartCommand(part))
    const completion = { Bucket, Key: "k", UploadId, MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] } }
    const complete = () => s3.client.send(new CompleteMultipartUploadCommand(completion))
    const three = (await complete()).VersionId
    assert.strictEqual((await complete()).VersionId, three)
    assert.deepStrictEqual(
      [await get(Bucket), await get(Bucket, two), await get(Bucket, one)],
      [`three ${three}`, `two ${two}`, `one ${one}`]
    )
    const url = await presigned(s3, { path: `/${Bucket}/k`, query: { versionId: one ?? "" } })
    assert.strictEqual((await raw(s3, "GET", url)).text, "one")
  })

  it("needs the permissions of versions, whatever the query's version is", async () => {
    const Bucket = await bucketWith("Enabled")
    const one = await put(Bucket, "one")
    const statement = (Effect: string, Action: string) => ({
      Effect,
      Action,
      Principal: "*",
      Resource: `arn:aws:s3:::${Bucket}/*`
    })
    const policy = (...Statement: ReadonlyArray<object>) =>
      s3.client.send(
        new PutBucketPolicyCommand({ Bucket, Policy: JSON.stringify({ Version: "2012-10-17", Statement }) })
      )
    const status = async (method: string, query: string, body?: string) =>
      (await raw(s3, method, `/${Bucket}/k${query}`, {}, body)).status
    await policy(statement("Allow", "s3:GetObject"), statement("Allow", "s3:DeleteObject"))
    assert.strictEqual(await status("GET", ""), 200)
    for (const method of ["GET", "DELETE"]) assert.strictEqual(await status(method, `?versionId=${one}`), 403)
    await policy(statement("Allow", "s3:GetObjectVersion"))
    assert.deepStrictEqual([await status("GET", ""), await status("GET", `?versionId=${one}`)], [403, 200])
    assert.strictEqual(await status("GET", `?versionId=${"f".repeat(32)}`), 403)
    await policy(statement("Allow", "*"), statement("Deny", "s3:PutObject"))
    for (const query of ["", "?versionId=", "?versionId=null"]) assert.strictEqual(await status("PUT", query, "x"), 403)
  })

  it("keeps what each of many writers of a key wrote, and lets one of those that create it win", async () => {
    const Bucket = await bucketWith("Enabled")
    const bodies = Array.from({ length: 40 }, (_, n) => `body ${n}`)
    const ids = await Promise.all(bodies.map((body) => put(Bucket, body)))
    assert.strictEqual(new Set(ids).size, bodies.length)
    const listed = await versions(Bucket)
    assert.strictEqual(listed.filter((line) => line.includes("*")).length, 1)
    assert.sameMembers(
      listed.map((line) => line.replace("*", "")),
      ids.map((id) => `k ${id}`)
    )
    const read = await Promise.all(ids.map((id) => get(Bucket, id)))
    assert.deepStrictEqual(
      read,
      bodies.map((body, n) => `${body} ${ids[n]}`)
    )
    const created = await Promise.all(bodies.map((body) => refused(put(Bucket, body, "new", { IfNoneMatch: "*" }))))
    assert.strictEqual(created.filter((answer) => answer === "accepted").length, 1)
    await Promise.all([...ids, ...ids].map((id) => remove(Bucket, id)))
    assert.lengthOf(await versions(Bucket), 1)
  })

  it("judges conditions on versions by the version that a request is for", async () => {
    const Bucket = await bucketWith("Enabled")
    const [one, two] = [await put(Bucket, "one"), await put(Bucket, "two")]
    const statement = {
      Effect: "Deny",
      Action: ["s3:GetObjectVersion", "s3:DeleteObjectVersion"],
      Principal: "*",
      Resource: `arn:aws:s3:::${Bucket}/*`,
      Condition: { StringEquals: { "s3:versionid": one } }
    }
    await s3.client.send(
      new PutBucketPolicyCommand({ Bucket, Policy: JSON.stringify({ Version: "2012-10-17", Statement: [statement] }) })
    )
    assert.strictEqual(await refused(get(Bucket, one)), "403 AccessDenied")
    assert.strictEqual(await get(Bucket, two), `two ${two}`)
    const copy = (version: string | undefined, query = {}) =>
      call(s3, {
        method: "PUT",
        path: `/${Bucket}/copy`,
        query,
        headers: { "x-amz-copy-source": `${Bucket}/k?versionId=${version}` }
      })
    assert.strictEqual((await copy(one)).code, "AccessDenied")
    assert.strictEqual((await copy(one, { versionId: two })).code, "InvalidArgument")
    assert.strictEqual((await copy(two)).status, 200)
    const { Errors = [] } = await s3.client.send(
      new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: "k", VersionId: one }] } })
    )
    assert.deepStrictEqual(
      Errors.map(({ Code, VersionId }) => [Code, VersionId]),
      [["AccessDenied", one]]
    )
    assert.strictEqual(await refused(remove(Bucket, one)), "403 AccessDenied")
    assert.deepStrictEqual(await remove(Bucket, two), { DeleteMarker: undefined, id: two })
  })

  it("authorizes versioning, lists of versions, tags and batches by permissions of their own", async () => {
    const Bucket = await bucketWith("Enabled")
    const one = (await put(Bucket, "one", "k", { Tagging: "n=1" })) ?? ""
    await put(Bucket, "two")
    const allow = (...Action: ReadonlyArray<string>) => {
      const Resource = [`arn:aws:s3:::${Bucket}`, `arn:aws:s3:::${Bucket}/*`]
      const Statement = [{ Effect: "Allow", Principal: "*", Action, Resource }]
      return s3.client.send(
        new PutBucketPolicyCommand({ Bucket, Policy: JSON.stringify({ Version: "2012-10-17", Statement }) })
      )
    }
    const status = async (method: string, target: string, body?: string) =>
      (await raw(s3, method, `/${Bucket}${target}`, {}, body)).status
    const suspended = "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>"
    const tagging = "<Tagging><TagSet></TagSet></Tagging>"
    const requests: ReadonlyArray<readonly [string, string, string, string?]> = [
      ["s3:ListBucketVersions", "GET", "?versions"],
      ["s3:GetBucketVersioning", "GET", "?versioning"],
      ["s3:GetObjectVersion", "HEAD", `/k?versionId=${one}`],
      ["s3:GetObjectVersionTagging", "GET", `/k?tagging&versionId=${one}`],
      ["s3:PutObjectVersionTagging", "PUT", `/k?tagging&versionId=${one}`, tagging],
      ["s3:DeleteObjectVersionTagging", "DELETE", `/k?tagging&versionId=${one}`],
      ["s3:GetObjectVersionAcl", "GET", `/k?acl&versionId=${one}`],
      ["s3:PutBucketVersioning", "PUT", "?versioning", suspended],
      ["s3:DeleteObjectVersion", "DELETE", `/k?versionId=${one}`]
    ]
    const others = ["s3:ListBucket", "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:GetObjectTagging"]
    await allow(...others, "s3:PutObjectTagging", "s3:DeleteObjectTagging", "s3:GetBucketTagging", "s3:GetObjectAcl")
    for (const [action, method, target, body] of requests) {
      assert.strictEqual(await status(method, target, body), 403, action)
    }
    for (const [action, method, target, body] of requests) {
      await allow(action)
      assert.isBelow(await status(method, target, body), 300, action)
    }
    // Each key of a batch needs the permission for what is done with it.
    const batch = (version: string) =>
      `<Delete><Object><Key>k</Key></Object><Object><Key>k</Key><VersionId>${version}</VersionId></Object></Delete>`
    await allow("s3:DeleteObject")
    const { text } = await raw(s3, "POST", `/${Bucket}?delete`, {}, batch("null"))
    assert.match(text, /<Deleted><Key>k<\/Key><DeleteMarker>/)
    assert.match(text, /<Error><Key>k<\/Key><VersionId>null<\/VersionId><Code>AccessDenied</)
  })

  it("signs the version of a presigned URL", async () => {
    const Bucket = await bucketWith("Enabled")
    const [one, two] = [(await put(Bucket, "one")) ?? "", (await put(Bucket, "two")) ?? ""]
    const url = await presigned(s3, { path: `/${Bucket}/k`, query: { versionId: one } })
    for (const other of [url.replace(one, two), `${url}&versionId=${two}`, url.replace(`versionId=${one}&`, "")]) {
      assert.notStrictEqual(other, url)
      assert.strictEqual((await raw(s3, "GET", other)).code, "SignatureDoesNotMatch")
    }
    const current = await presigned(s3, { path: `/${Bucket}/k` })
    assert.strictEqual((await raw(s3, "GET", `${current}&versionId=${one}`)).code, "SignatureDoesNotMatch")
  })

  it("refuses a version id where none is used, and conditions on delete markers", async () => {
    const Bucket = await bucketWith("Enabled")
    const one = (await put(Bucket, "one")) ?? ""
    const code = async (method: string, query: Readonly<Record<string, string>>) =>
      (await call(s3, { method, path: `/${Bucket}/k`, query })).code
    assert.strictEqual(await code("PUT", { versionId: one }), "InvalidArgument")
    assert.strictEqual(await code("POST", { uploads: "", versionId: one }), "InvalidArgument")
    assert.strictEqual(await code("GET", { versionId: "" }), "InvalidArgument")
    assert.isUndefined(await code("GET", { acl: "", versionId: one }))
    const { id: VersionId } = await remove(Bucket)
    const marker = s3.client.send(new DeleteObjectCommand({ Bucket, Key: "k", VersionId, IfMatch: "*" }))
    assert.strictEqual(await refused(marker), "404 NoSuchKey")
    const named = s3.client.send(new DeleteObjectCommand({ Bucket, Key: "k", VersionId: one, IfMatch: '"0"' }))
    assert.strictEqual(await refused(named), "412 PreconditionFailed")
    const invalid = s3.client.send(new DeleteObjectCommand({ Bucket, Key: "k", VersionId: "x", IfMatch: "*" }))
    assert.strictEqual(await refused(invalid), "400 InvalidArgument")
    assert.strictEqual(await get(Bucket, one), `one ${one}`)
  })

  it("refuses settings that it can't honour", async () => {
    const Bucket = await bucketWith()
    const answer = async (inner: string) =>
      (await call(s3, { method: "PUT", path: `/${Bucket}`, query: { versioning: "" }, body: inner })).code
    const config = (inner: string) => answer(`<VersioningConfiguration>${inner}</VersioningConfiguration>`)
    assert.strictEqual(await config(""), "IllegalVersioningConfigurationException")
    assert.strictEqual(await config("<Status>On</Status>"), "MalformedXML")
    assert.strictEqual(await config("<Status>Enabled</Status><MfaDelete>Enabled</MfaDelete>"), "NotImplemented")
    assert.isUndefined((await s3.client.send(new GetBucketVersioningCommand({ Bucket }))).Status)
  })
})
