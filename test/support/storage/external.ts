const { S3_TEST_ACCESS_KEY, S3_TEST_ENDPOINT, S3_TEST_SECRET_KEY } = process.env

/** Settings of a second store to test besides the embedded one; undefined unless S3_TEST_ENDPOINT is set. */
export const otherStore: Readonly<Record<"S3_ENDPOINT" | "S3_ACCESS_KEY" | "S3_SECRET_KEY", string>> | undefined =
  S3_TEST_ENDPOINT === undefined
    ? undefined
    : {
        S3_ENDPOINT: S3_TEST_ENDPOINT,
        S3_ACCESS_KEY: S3_TEST_ACCESS_KEY ?? "",
        S3_SECRET_KEY: S3_TEST_SECRET_KEY ?? ""
      }
