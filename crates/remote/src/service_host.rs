//! Services on another machine than their servers.

use crate::host::{HostAgent, unexpected};
use crate::link::Link;
use crate::message::{Call, Reply};
use crate::registry::Registry;
use crate::watch::RemoteWatch;
use prony_lab::placement::Placement;
use prony_lab::service::Connected;
use prony_lab::side::Candidate;
use prony_record::{Failure, Step};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The machine of servers' services.
pub struct ServiceHost {
    pub(crate) agent: HostAgent,
    /// How the servers reach it.
    ip: IpAddr,
    /// Generators run there too.
    shared: bool,
}

impl ServiceHost {
    /// A machine of services, which servers reach at `ip`. `shared` says whether a generator is on it too.
    ///
    /// # Errors
    /// When the agent cannot be a host.
    pub fn new(
        registry: Arc<Registry>,
        name: &str,
        ip: IpAddr,
        placement: Placement,
        shared: bool,
    ) -> Result<Self, String> {
        Ok(Self {
            agent: HostAgent::new(registry, name, placement)?,
            ip,
            shared,
        })
    }

    /// Starts the services of a server.
    pub(crate) fn serve(&self, who: &Candidate<'_>) -> Result<RemoteServices, Failure> {
        let failed = |error: String| Failure::new(Step::Start, error);
        let link = self.agent.link().map_err(failed)?;
        match link
            .call(Call::StartServices(who.services(), self.ip))
            .map_err(failed)?
        {
            Reply::Services(number, connected) => Ok(RemoteServices {
                link,
                number,
                shared: self.shared,
                connected: *connected,
            }),
            Reply::Failed(failure) => {
                let message = format!("on host {}: {}", link.name(), failure.message);
                Err(Failure { message, ..failure })
            }
            other => Err(unexpected(Step::Start, other)),
        }
    }
}

/// Services on another machine. Dropping them ends them.
pub(crate) struct RemoteServices {
    link: Arc<Link>,
    number: u32,
    shared: bool,
    pub(crate) connected: Connected,
}

impl RemoteServices {
    /// The end of a lost service's output; None where none was lost.
    pub(crate) fn last_words(&self) -> Option<String> {
        match self.link.call(Call::Output(self.number)) {
            Ok(Reply::Text(words)) => Some(words).filter(|words| !words.is_empty()),
            _ => None,
        }
    }

    /// Stops their processes while others are measured.
    pub(crate) fn pause(&self) {
        let _ = self.link.call(Call::Pause(self.number));
    }

    /// Lets them go on.
    pub(crate) fn resume(&self) {
        let _ = self.link.call(Call::GoOn(self.number));
    }

    /// Watches them, as [`RemoteWatch::begin`] does.
    pub(crate) fn watch(&self, period: Duration) -> RemoteWatch {
        RemoteWatch::begin((&self.link, self.number), None, period, !self.shared)
    }

    /// The loss of one that has ended, as words that follow the server's name.
    pub(crate) fn lost(&self) -> Option<String> {
        match self.link.call(Call::Exited(self.number)) {
            Ok(Reply::Exited(lost)) => lost,
            Ok(_) => None,
            Err(error) => Some(format!("lost the machine of its services: {error}")),
        }
    }
}

impl Drop for RemoteServices {
    fn drop(&mut self) {
        // Without its agent they have ended already.
        let _ = self.link.call(Call::Stop(self.number));
    }
}
