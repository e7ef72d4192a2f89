const key = Deno.env.get("SVC_SERVICE_KEY") ?? ""

/** Calls the service as its owner. */
export const api = async (line: string, body?: unknown, headers: Record<string, string> = {}) => {
  const [method, path] = line.split(" ")
  const response = await fetch(`${Deno.env.get("SVC_URL")}${path}`, {
    method,
    headers: { apikey: key, "content-type": "application/json", ...headers },
    body: body === undefined ? null : JSON.stringify(body)
  })
  if (!response.ok) throw new Error(`${line}: ${response.status} ${await response.text()}`)
  return await response.json()
}

/** A handler of what the service itself sends: anyone with an API key can call a function. */
export const ofService =
  <Body>(handle: (body: Body) => Promise<unknown>) =>
  async (request: Request) => {
    if (request.headers.get("x-svc-role") !== "service_role") return new Response(null, { status: 403 })
    return Response.json(await handle((await request.json()) as Body))
  }
