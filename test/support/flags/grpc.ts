import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary
} from "@bufbuild/protobuf"
import { type ChannelOptions, Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js"

type Method<I extends DescMessage, O extends DescMessage> = DescMethod & { readonly input: I; readonly output: O }

export interface GrpcOptions {
  /** Sent as `Flagd-Selector`. */
  readonly selector?: string
  readonly deadline?: number
}

/** An open stream; `messages` grows. */
export interface GrpcStream<A> {
  readonly messages: ReadonlyArray<A>
  /** The gRPC status at the end; 0 is OK. */
  readonly ended: Promise<number>
  readonly cancel: () => void
  readonly pause: () => void
  readonly resume: () => void
}

/** A client by grpc-js, which shares no code with the server except the message types. */
export const grpcClient = (address: string, options: ChannelOptions = {}) => {
  const client = new Client(address, credentials.createInsecure(), options)
  const codec = <I extends DescMessage, O extends DescMessage>({ input, name, output, parent }: Method<I, O>) => ({
    path: `/${parent.typeName}/${name}`,
    write: (message: MessageShape<I>) => Buffer.from(toBinary(input, message)),
    read: (bytes: Buffer) => fromBinary(output, bytes)
  })
  const extras = ({ deadline, selector }: GrpcOptions) => {
    const metadata = new Metadata()
    if (selector !== undefined) metadata.set("flagd-selector", selector)
    return [metadata, deadline === undefined ? {} : { deadline: Date.now() + deadline }] as const
  }

  return {
    /** Fails with the error of grpc-js: `code`, `details`. */
    call: <I extends DescMessage, O extends DescMessage>(
      method: Method<I, O>,
      request: MessageInitShape<I>,
      given: GrpcOptions = {}
    ) =>
      new Promise<MessageShape<O>>((done, failed) => {
        const { path, read, write } = codec(method)
        const [metadata, options] = extras(given)
        const message = create(method.input, request)
        client.makeUnaryRequest(path, write, read, message, metadata, options, (error, value) =>
          error === null ? done(value as MessageShape<O>) : failed(error)
        )
      }),
    open: <I extends DescMessage, O extends DescMessage>(
      method: Method<I, O>,
      request: MessageInitShape<I>,
      given: GrpcOptions = {}
    ): GrpcStream<MessageShape<O>> => {
      const { path, read, write } = codec(method)
      const [metadata, options] = extras(given)
      const messages: Array<MessageShape<O>> = []
      const stream = client.makeServerStreamRequest(path, write, read, create(method.input, request), metadata, options)
      stream.on("data", (message: MessageShape<O>) => messages.push(message))
      const ended = new Promise<number>((done) => {
        stream.on("error", ({ code }: ServiceError) => done(code))
        stream.on("end", () => done(0))
      })
      return {
        messages,
        ended,
        cancel: () => stream.cancel(),
        pause: () => stream.pause(),
        resume: () => stream.resume()
      }
    },
    close: () => client.close()
  }
}
