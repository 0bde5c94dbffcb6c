import { useLocation, useNavigate, useRouter } from '@tanstack/react-router'

/** Navigates, unless the person left the page meanwhile: an answer that comes late must not take them away. */
export const useNavigateFromHere = (): ReturnType<typeof useNavigate> => {
  const router = useRouter()
  const navigate = useNavigate()
  const here = useLocation({ select: ({ pathname }) => pathname })
  return async (to) => {
    if (router.latestLocation.pathname === here) await navigate(to)
  }
}
