-- | A TCP echo server: a light thread per connection, which the runtime's I/O manager
-- puts to sleep and wakes.
module Main (main) where

import Control.Concurrent (forkFinally)
import Control.Monad (forever, unless)
import qualified Data.ByteString as B
import Network.Socket
import Network.Socket.ByteString (recv, sendAll)
import System.Environment (getArgs)
import System.Exit (die)

main :: IO ()
main = do
  args <- getArgs
  case args of
    [host, port] -> serve =<< listenOn host port
    _ -> die "usage: server HOST PORT"

listenOn :: HostName -> ServiceName -> IO Socket
listenOn host port = do
  let numeric = defaultHints {addrFlags = [AI_NUMERICHOST], addrSocketType = Stream}
  address <- head <$> getAddrInfo (Just numeric) (Just host) (Just port)
  listener <- openSocket address
  setSocketOption listener ReuseAddr 1
  setSocketOption listener NoDelay 1 -- accepted sockets inherit it
  bind listener $ addrAddress address
  listen listener 4096
  return listener

serve :: Socket -> IO ()
serve listener = forever $ do
  (connection, _) <- accept listener
  -- However the thread ends, be it by an exception for a reset, the connection is closed.
  forkFinally (echo connection) $ const $ close connection

-- | The thread sleeps in 'sendAll' as long as the peer does not take its answers, and reads
-- no more: that is all the back-pressure there has to be.
echo :: Socket -> IO ()
echo connection = do
  bytes <- recv connection 4096
  unless (B.null bytes) $ sendAll connection bytes >> echo connection
