/** Doors for callers who need no account: whoever has a signed link, a program on this machine, or anyone. */
import { Failure } from '../../../platform/ground/errors.ts'
import type { Door } from '../area.ts'
import { callerAddress, type ProxyTrust } from '../caller-address.ts'
import type { LinkAccess } from '../route.ts'
import { fromThisMachine } from '../this-machine.ts'

export const makeOpenDoor = (proxies: ProxyTrust): Door => ({
  admit: (request) => ({ address: callerAddress(request.raw, proxies) }),
  enter: () => ({}),
})

/** The token is the rest of the path. The handler decides how to refuse an invalid one. */
export const makeLinkDoor = (proxies: ProxyTrust): Door => ({
  ...makeOpenDoor(proxies),
  enter: (_, request, { access }) => ({ ref: (access as LinkAccess).read((request.params as { '*': string })['*']) }),
})

/** To anyone else, these paths do not exist. */
export const makeMachineDoor = (proxies: ProxyTrust): Door => ({
  admit: (request) => {
    if (!fromThisMachine(request.raw)) throw new Failure('NOT_FOUND')
    return { address: callerAddress(request.raw, proxies) }
  },
  enter: () => ({}),
})
